"""What ranks write for one another in the store that torchrun keeps: who is there, who lives, and why it ended.

Gradients travel between ranks directly. The store is for the few words that must get through when that fails: a rank that cannot
go on says why before it leaves, the first such word counts, and everybody reports that one. So a loss that runs through the
ranks like dominoes is named by its first stone. Words are JSON or the codec of parts: reading them runs no code.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from samebits.core.codec import decode, encode
from samebits.core.observing import clock
from samebits.errors import ClusterLost

__all__ = ["Board", "Note", "distributed", "open_board"]

Note = dict[str, Any]
BEAT_SECONDS = 0.5
POLL_SECONDS = 0.05
PAUSE_SECONDS = 5.0  # this process itself was away for so long: nobody is blamed for it
ARRIVE = 10  # times the stall timeout: reading the inputs comes before arriving
END = "end"


def distributed() -> Any:
    """Return torch.distributed; its type stubs export only a part of it."""
    import torch.distributed

    return torch.distributed


def open_board(prefix: str, rank: int, world: int, stall_timeout: float) -> Board:
    """Reach the store.

    Raises:
        ClusterLost: it does not answer at the address that torchrun gave.
    """
    limit = timedelta(seconds=stall_timeout)
    try:
        store, _, _ = next(iter(distributed().rendezvous("env://", timeout=limit)))
        store.set_timeout(limit)
        return Board(store, prefix, rank, world, stall_timeout)
    except (RuntimeError, OSError) as error:
        raise ClusterLost(
            f"rank {rank} cannot reach the rendezvous at {_address()}: {str(error).splitlines()[0][:200]}",
            hint="is torchrun running on the first machine, and is its port open from here?",
        ) from None


def _address() -> str:
    return f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"


class Board:
    """The store as one rank uses it.

    Attributes:
        store: For those who make a process group of it; keys are their own.
    """

    def __init__(self, store: Any, prefix: str, rank: int, world: int, stall_timeout: float) -> None:
        dist = distributed()
        self.store = dist.PrefixStore(prefix, store)
        self._watched = dist.PrefixStore(prefix, store.clone())  # a thread's own: an answer may take long
        self._rank, self._world, self._limit = rank, world, stall_timeout
        self._done = threading.Event()
        self._answered_at = self._looked_at = clock.seconds()

    def arrive(self, word: Note) -> list[Note]:
        """Say who this is, wait for all others, and return everybody's word in the order of ranks.

        Raises:
            ClusterLost: a rank did not arrive in time, or said that it cannot go on.
        """
        try:
            return self._arrive(word, clock.seconds() + ARRIVE * self._limit)
        except RuntimeError as error:
            raise ClusterLost(
                f"the rendezvous at {_address()} is lost: {str(error).splitlines()[0][:200]}",
                hint="look at rank 0's own messages, then start again",
            ) from None

    def _arrive(self, word: Note, until: float) -> list[Note]:
        store, ranks = self.store, range(self._world)
        store.set(f"pulse/{self._rank}", "0")
        store.set(f"hello/{self._rank}", encode(word))
        for rank in ranks:
            while not store.check([f"hello/{rank}"]):
                if self.ended() is not None or clock.seconds() > until:
                    raise ClusterLost(
                        f"rank {rank} of {self._world} did not arrive within {ARRIVE * self._limit:g} s",
                        hint="look at that rank's own messages, then start again",
                    )
                self._done.wait(POLL_SECONDS)
        words: list[Note] = [decode(store.get(f"hello/{rank}")) for rank in ranks]
        read = store.add("read", 1)
        while self._rank == 0 and read < self._world and clock.seconds() < until:
            self._done.wait(
                POLL_SECONDS
            )  # it may be the store's host, and may have to refuse somebody and leave
            read = store.add("read", 0)
        return words

    def post(self, note: Note) -> Note:
        """Say why this rank does not go on; return what counts: the first such word, or this one if nobody hears it."""
        try:
            return _read(self.store.compare_set(END, "", encode(note).hex())) or note
        except (RuntimeError, ValueError):
            return note

    def ended(self) -> Note | None:
        """Return the word that counts, if anybody has said one."""
        return _read(self.store.get(END)) if self.store.check([END]) else None

    def watch(self, alive: Callable[[], int], lost: Callable[[Note], None]) -> None:
        """Start to show signs of life and to look for those of others.

        Args:
            alive: A number that changes as long as this rank lives.
            lost: Called from a thread with the word to report; does not return.
        """
        self._answered_at = self._looked_at = clock.seconds()
        threading.Thread(target=self._watch, args=(alive, lost), daemon=True).start()

    def _watch(self, alive: Callable[[], int], lost: Callable[[Note], None]) -> None:
        store, keys = self._watched, [f"pulse/{rank}" for rank in range(self._world)]
        heard: dict[int, tuple[bytes, float]] = {}
        while not self._done.wait(BEAT_SECONDS):
            before = clock.seconds()
            try:
                store.set(keys[self._rank], str(alive()))
                pulses = store.multi_get(keys)
                note = _read(store.get(END)) if store.check([END]) else None
            except (RuntimeError, ValueError):
                continue  # no answer: look() decides how long that may last
            now = clock.seconds()
            away, self._answered_at = now - self._answered_at, now
            if note is not None and not self._done.is_set():
                lost(note)
            for rank, pulse in enumerate(pulses):
                last, at = heard.get(rank, (b"", now))
                at += away if away > PAUSE_SECONDS else 0.0
                heard[rank] = (pulse, before if pulse != last else at)
                if rank != self._rank and now - heard[rank][1] > self._limit and not self._done.is_set():
                    lost(self.post(_silent(rank, self._limit)))

    def look(self, lost: Callable[[Note], None]) -> None:
        """See whether the store still answers; called more often than that may last."""
        now = clock.seconds()
        away, self._looked_at = now - self._looked_at, now
        if away > PAUSE_SECONDS:
            self._answered_at += away
        if now - self._answered_at > self._limit and not self._done.is_set():
            lost(
                {
                    "rank": -1,
                    "reason": f"the rendezvous at {_address()} gave no answer for {self._limit:g} s",
                }
            )

    def part(self) -> None:
        """Stop watching; the rank that may be the store's host leaves last."""
        self._done.set()
        try:
            gone = self.store.add("gone", 1)
            until = clock.seconds() + PAUSE_SECONDS
            while self._rank == 0 and gone < self._world and clock.seconds() < until:
                threading.Event().wait(POLL_SECONDS)
                gone = self.store.add("gone", 0)
        except RuntimeError:
            return  # the host has left: nobody is waiting


def _silent(rank: int, seconds: float) -> Note:
    return {"rank": rank, "reason": f"no sign of life for {seconds:g} s"}


def _read(value: bytes) -> Note | None:
    """Read a word; it is kept in hexadecimal, because the store compares texts."""
    found: Note | None = decode(bytes.fromhex(value.decode("ascii"))) if value else None
    return found
