"""Meetings between ranks of torchrun: what others need of this rank's arrays is sent to them over gloo, and nothing is added up.

``torch.distributed`` carries bytes from rank to rank and no more: its reductions add in an order that depends on the number of
ranks. Pieces below 256 KiB that go the same way travel as one message; larger ones are sent from where they are to where they
belong. Every wait ends: a closed connection at once, a silent rank or a lost network after the stall timeout (``board``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from samebits.core.codec import decode, encode
from samebits.errors import (
    ClusterLost,
    EnvironmentMismatch,
    PlanMismatch,
    SamebitsError,
    from_plain,
    to_plain,
)
from samebits.lockstep.exchange.exchange_plan import Moves, Transfer
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.exchange.notices import Board, Note, distributed, open_board
from samebits.lockstep.exchange.rendezvous import Elsewhere, Share
from samebits.lockstep.exchange.tree import Split, shards_of, split
from samebits.lockstep.parent.checkpoints import Checkpoint
from samebits.lockstep.parent.lost import AGAIN, lost_worker
from samebits.lockstep.problem.optional_methods import identity_of
from samebits.lockstep.problem.schedule import ScheduleState
from samebits.lockstep.worker.assignment import Order
from samebits.lockstep.worker.environment import environment_of
from samebits.lockstep.worker.messages import WorkerFailed

__all__ = ["ClusterMeeting"]

Bytes: TypeAlias = NDArray[np.uint8]
SMALL = 1 << 18  # bytes; a message costs about 0.1 ms, as much as copying this many twice
NO_LIMIT = timedelta(days=365)  # the board notices who is silent; gloo's own limit cannot tell slow from dead


class _Parcel:
    """Everything that goes one way between two ranks at one kind of meeting."""

    def __init__(self, views: Sequence[Bytes]) -> None:
        self.large = [view for view in views if len(view) >= SMALL]
        self.small = [view for view in views if len(view) < SMALL]
        self.box = np.empty(sum(map(len, self.small)), np.uint8)

    def messages(self) -> list[Bytes]:
        """Return what is sent or received, in order."""
        return [*([self.box] if len(self.box) else []), *self.large]

    def pack(self) -> None:
        """Copy small pieces into their box."""
        if self.small:
            np.concatenate(self.small, out=self.box)

    def unpack(self) -> None:
        """Copy them out of it."""
        start = 0
        for view in self.small:
            view[:] = self.box[start : start + len(view)]
            start += len(view)


Parcels: TypeAlias = dict[int, _Parcel]


class ClusterMeeting:
    """How one rank meets the others.

    Args:
        prefix: Of all keys in the store; another one for every run and every restart.
        rank: This one.
        world: How many there are.
        state: This rank's arrays.
        stall_timeout: Seconds without a sign of life before a rank counts as lost.
        at_step: Says at which step this rank is, for messages.
        lost: Called from another thread with what to report; does not return.
    """

    def __init__(
        self,
        prefix: str,
        rank: int,
        world: int,
        state: State,
        *,
        stall_timeout: float,
        at_step: Callable[[], int],
        lost: Callable[[WorkerFailed], None],
    ) -> None:
        self._prefix, self._rank, self._world = prefix, rank, world
        self._state, self._limit = state, stall_timeout
        self._at_step, self._lost = at_step, lost
        self._others = [peer for peer in range(world) if peer != rank]
        self._routes: dict[Share, tuple[Parcels, Parcels]] = {}
        self._num_shards = 0
        self._board: Board | None = None

    def begin(self, order: Order) -> Order:
        """Meet for the first time: all must be alike, and all begin where rank 0 begins.

        Raises:
            EnvironmentMismatch: a rank has another CPU or library version.
            PlanMismatch: a rank was started with other settings or data.
            ClusterLost: a rank or the store cannot be reached.
        """
        self._moves = Moves(order.config, order.layout, order.sizes)
        self._num_shards = order.config.shards
        self._board = board = open_board(self._prefix, self._rank, self._world, self._limit)
        words = board.arrive({"environment": _environment(order), "run": _run_of(order)})
        _refuse_strangers(words)
        board.watch(lambda: int(self._state.ticks[0]), self._report)
        if self._others:
            self._connect(board)
        return _begun(order, decode(self._spread(encode(_beginning(order)))[0]))

    def shards(self, num_shards: int) -> Iterator[int]:
        """Yield the rank's own shards."""
        return iter(shards_of(self._rank, self._world, num_shards))

    def split(self, num_shards: int) -> Split:
        """Merge what lies inside this rank at once: only the roots travel."""
        return split(self._rank, self._world, num_shards)

    def _connect(self, board: Board) -> None:
        dist = distributed()
        try:
            dist.init_process_group(
                "gloo",
                store=dist.PrefixStore("gloo", board.store),
                rank=self._rank,
                world_size=self._world,
                timeout=timedelta(seconds=self._limit),
            )
        except RuntimeError as error:
            raise ClusterLost(
                f"rank {self._rank} cannot connect to the others: {str(error).splitlines()[0][:200]}",
                hint="set GLOO_SOCKET_IFNAME to the network interface that all machines share",
            ) from None

    def meet(self, what: Share) -> None:
        """Send what others need, and wait for what this rank needs."""
        if what is Share.NOTHING:
            return  # it only protects memory that is shared, and here none is
        if what not in self._routes:
            pieces = self._moves.pieces
            self._routes[what] = (
                {peer: _Parcel(self._views(pieces(what, self._rank, peer))) for peer in self._others},
                {peer: _Parcel(self._views(pieces(what, peer, self._rank))) for peer in self._others},
            )
        self._exchange(*self._routes[what])

    def _views(self, pieces: Sequence[Transfer]) -> list[Bytes]:
        return [
            getattr(self._state, piece.array).reshape(-1)[piece.start : piece.stop].view(np.uint8)
            for piece in pieces
        ]

    def _exchange(self, outgoing: Parcels, incoming: Parcels) -> None:
        """Send and receive all messages; messages of a pair of ranks are told apart by their numbers."""
        from torch import from_numpy

        dist, works, peer = distributed(), list[tuple[int, Any]](), -1
        try:
            for peer, parcel in incoming.items():
                for tag, message in enumerate(parcel.messages()):
                    works.append((peer, dist.irecv(from_numpy(message), peer, tag=tag)))
            for peer, parcel in outgoing.items():
                parcel.pack()
                for tag, message in enumerate(parcel.messages()):
                    works.append((peer, dist.isend(from_numpy(message), peer, tag=tag)))
            for peer, work in works:  # noqa: B007 - named when it fails
                work.wait(NO_LIMIT)
        except RuntimeError as error:
            self._give_up(peer, error)
        for parcel in incoming.values():
            parcel.unpack()

    def ask(self, value: int) -> list[int]:
        """Send a number to everybody."""
        values = np.zeros(self._world, np.int64)
        values[self._rank] = value
        views = values.view(np.uint8).reshape(self._world, 8)
        outgoing = {peer: _Parcel([views[self._rank]]) for peer in self._others}
        self._exchange(outgoing, {peer: _Parcel([views[peer]]) for peer in self._others})
        found: list[int] = values.tolist()
        return found

    def _spread(self, data: bytes) -> list[bytes]:
        """Return everybody's bytes, in the order of ranks."""
        sizes = self.ask(len(data))
        found = [np.empty(size, np.uint8) for size in sizes]
        found[self._rank][:] = np.frombuffer(data, np.uint8)
        outgoing = {peer: _Parcel([found[self._rank]]) for peer in self._others}
        self._exchange(outgoing, {peer: _Parcel([found[peer]]) for peer in self._others})
        return [item.tobytes() for item in found]

    def gather(self, failure: WorkerFailed | None) -> list[WorkerFailed]:
        """Return everybody's failures: each rank has a parent of its own, and all of them report the same one."""
        found = self._spread(encode(_plain(failure)) if failure is not None else b"")
        return [_failed(decode(item)) for item in found if item]

    def fail(self, failure: WorkerFailed) -> None:
        """Say why this rank does not go on."""
        if self._board is not None:
            self._board.post({"failed": _plain(failure)})

    def look(self) -> None:
        """See whether the store still answers."""
        if self._board is not None:
            self._board.look(self._report)

    def leave(self) -> None:
        """Part after the last meeting."""
        if self._board is not None:
            self._board.part()

    def _give_up(self, peer: int, error: RuntimeError) -> NoReturn:
        """Name the rank at fault: this one, unless somebody has already named another."""
        assert self._board is not None
        text = str(error).splitlines()[0]
        closed = any(word in text for word in ("closed", "reset", "Broken pipe"))
        reason = "its connection closed" if closed else text[-200:]
        note: Note = {"rank": peer, "step": self._at_step(), "reason": reason}
        raise Elsewhere(self._failure(self._board.post(note)))

    def _report(self, note: Note) -> None:
        self._lost(self._failure(note))

    def _failure(self, note: Note) -> WorkerFailed:
        """Return what a word on the board stands for."""
        if "failed" in note:
            return _failed(note["failed"])
        rank, step = int(note["rank"]), int(note.get("step", self._at_step()))
        error = self._lost_rank(rank, step, str(note["reason"]))
        return WorkerFailed(rank, step, -1, error.message, "", error)

    def _lost_rank(self, rank: int, step: int, reason: str) -> SamebitsError:
        if rank < 0:
            return ClusterLost(f"rank {self._rank} is cut off at step {step}: {reason}", hint=AGAIN)
        shards = shards_of(rank, self._world, self._num_shards)
        return lost_worker(rank, shards, step=step, reason=reason, is_rank=True)


def _environment(order: Order) -> dict[str, str]:
    return {"samebits": str(sys.modules["samebits"].__version__), **environment_of(order.objective, "")}


def _run_of(order: Order) -> dict[str, str]:
    """Return every field that must be the same in all ranks, as texts that can be compared and shown."""
    fields = {**order.config.fields(), **identity_of(order.objective), "tensors": order.layout.digest[:16]}
    return {name: repr(value) for name, value in fields.items()}


def _refuse_strangers(words: Sequence[Mapping[str, Mapping[str, str]]]) -> None:
    """Compare every rank with rank 0."""
    for rank, word in enumerate(words):
        for part in ("environment", "run"):
            ours, theirs = words[0][part], word[part]
            differing = [
                f"{name} is {theirs.get(name)}, in rank 0 {ours.get(name)}"
                for name in sorted({*ours, *theirs})
                if ours.get(name) != theirs.get(name)
            ]
            if differing and part == "environment":
                raise EnvironmentMismatch(
                    f"rank {rank} has a different environment from rank 0: {'; '.join(differing)}",
                    hint="use machines of one CPU type with the same versions, or an objective that is portable",
                )
            if differing:
                raise PlanMismatch(
                    f"rank {rank} was started for a different run from rank 0: {'; '.join(differing)}",
                    hint="give all ranks the same command and the same data",
                )


def _beginning(order: Order) -> dict[str, Any]:
    """Return what others must know of where a rank begins; only rank 0's is used."""
    found = order.found
    past = None
    if found is not None:
        past = {"step": found.step, "head": found.head, "tensors": dict(found.tensors)}
    return {"save_every": list(order.save_every), "found": past}


def _begun(order: Order, first: Mapping[str, Any]) -> Order:
    past = first["found"]
    if past is None:
        return replace(order, save_every=tuple(first["save_every"]))
    found = Checkpoint(past["step"], past["head"], past["tensors"])
    return replace(
        order,
        save_every=tuple(first["save_every"]),
        found=found,
        start=found.step,
        fresh=False,
        progress=ScheduleState.from_fields(found.head["progress"]),
    )


def _plain(failure: WorkerFailed) -> dict[str, Any]:
    fields = {**asdict(replace(failure, error=None)), "error": None}
    if failure.error is not None:
        fields["error"] = to_plain(failure.error)
    try:
        encode(fields)
    except TypeError:
        fields["error"] = None  # an error that holds objects: its text must do
    return fields


def _failed(fields: Mapping[str, Any]) -> WorkerFailed:
    error = from_plain(fields["error"]) if fields["error"] else None
    return WorkerFailed(**{**fields, "error": error})
