"""Claims: several messages share one list of shards, and each shard is run by the message that claims it.

Sharing a list out beforehand takes many messages, small ones in the end, so that no worker waits for another. Where workers see the spool, they take
shards from the list one by one instead: a file has two bytes for each shard, in which the number of the message stands that has claimed it.
A byte range is locked while that is looked up and written, and nobody waits for a lock, so a worker that is stopped meanwhile holds up
one shard and no other worker. A message that is run again (Dask may do that) finds its own claims and keeps them.

Claims save time and decide nothing: a shard that two messages run gives the same answer twice, and one that none has
run when all have ended is sent again. Where there is no file that can be locked, each message runs its share of the list.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["ClaimedShards", "Claims", "claimed_by"]

MARK_BYTES = 2
_lock = (
    threading.Lock()
)  # locks of files are those of a process, and a worker of Dask may have several threads


class Claims(NamedTuple):
    """What a message is told of the list it shares.

    Attributes:
        path: File of the claims; whoever is first makes it.
        mark: Number of the message, from 1.
        number: How many messages left with the list at first.
        seconds: After so many it takes no more, so that its answers are not lost with a driver that is killed.
    """

    path: str
    mark: int
    number: int
    seconds: float


class ClaimedShards:
    """The shards that one message takes from a list: iterate to claim them, one after the other.

    Attributes:
        more: Time was up, and some were left.
    """

    def __init__(self, claims: Claims, number: int) -> None:
        self._claims, self._number = claims, number
        self.more = False

    def __iter__(self) -> Iterator[int]:
        """Yield places in the list."""
        claims, until = self._claims, time.monotonic() + self._claims.seconds
        file = _open(claims, self._number)
        if file is None:
            yield from range((claims.mark - 1) % claims.number, self._number, claims.number)
            return
        try:
            for place in range(self._number):
                if time.monotonic() > until:
                    self.more = True
                    return
                if _claim(file, place, claims.mark):
                    yield place
        finally:
            _close(file)


def _open(claims: Claims, number: int) -> int | None:
    """Open the file if it is where it can be locked; the range behind all claims is for trying."""
    try:
        file = os.open(claims.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        with _lock:
            at = (number + claims.mark) * MARK_BYTES
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, MARK_BYTES, at)
            fcntl.lockf(file, fcntl.LOCK_UN, MARK_BYTES, at)
    except OSError:
        _close(file)
        return None
    return file


def _close(file: int) -> None:
    with _lock:  # closing it would end a lock that another thread holds at the moment
        os.close(file)


def _claim(file: int, place: int, mark: int) -> bool:
    """Claim a shard, unless another message has it or is about to."""
    at, own = place * MARK_BYTES, mark.to_bytes(MARK_BYTES, "little")
    with _lock:
        if _is_of_another(file, at, own):
            return False
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, MARK_BYTES, at)
        except OSError:
            return False
        try:
            if _is_of_another(file, at, own):
                return False
            os.pwrite(file, own, at)
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, MARK_BYTES, at)
    return True


def _is_of_another(file: int, at: int, own: bytes) -> bool:
    found = os.pread(file, MARK_BYTES, at)
    return any(found) and found != own


def claimed_by(path: str, mark: int) -> set[int]:
    """Return which shards of a list a message has claimed, by their places; none where no claim was written."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return set()
    own = mark.to_bytes(MARK_BYTES, "little")
    return {
        place
        for place in range(len(data) // MARK_BYTES)
        if data[place * MARK_BYTES : (place + 1) * MARK_BYTES] == own
    }
