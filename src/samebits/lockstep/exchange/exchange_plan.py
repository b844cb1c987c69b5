"""Who needs which elements of whose arrays at a meeting between ranks. Numbers only; ``ranks`` carries them.

Each rank holds all arrays and computes a part of them. Nothing is added up on the way: a gradient travels as the roots of the
largest subtrees inside its rank, and the owner of a slice finishes the tree in the one order there is. So the number of ranks
and their places decide what travels, never what is added to what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from samebits.lockstep.exchange.memory import Sizes
from samebits.lockstep.exchange.rendezvous import Share
from samebits.lockstep.exchange.tree import shards_of, slice_of, split, validation_of
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import CHUNK, Layout
from samebits.lockstep.worker.optimizers.share import share_of

__all__ = ["Moves", "Transfer", "roots_of"]

MOMENTS = ("first", "second")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Elements ``[start, stop)`` of an array of the state, counted as if it had one axis."""

    array: str
    start: int
    stop: int


def roots_of(worker: int, workers: int, num_shards: int) -> list[int]:
    """Return the rows in which a worker's own merges end.

    >>> [roots_of(w, 2, 5) for w in range(2)]
    [[0], [2, 4]]
    """
    taken = {merge.right for merges in split(worker, workers, num_shards).local.values() for merge in merges}
    return [g for g in shards_of(worker, workers, num_shards) if g not in taken]


class Moves:
    """All moves of a run; each is a function of settings, tensors and the number of ranks."""

    def __init__(self, config: FitConfig, layout: Layout, sizes: Sizes) -> None:
        self._config, self._layout, self._sizes = config, layout, sizes
        self._moments = (*MOMENTS, "average") if config.average else MOMENTS

    def pieces(self, what: Share, sender: int, receiver: int) -> list[Transfer]:
        """Return what one rank sends another at a meeting, in the order it is sent."""
        found = {
            Share.START: self._start,
            Share.GRADIENTS: self._gradients,
            Share.NORMS: self._norms,
            Share.PARAMETERS: self._parameters,
            Share.VALIDATION: self._validation,
            Share.SHARDS: self._shards,
            Share.CHECKPOINT: self._checkpoint,
            Share.END: self._end,
        }.get(what)
        pieces = found(sender, receiver) if found else ()
        return [piece for piece in pieces if piece.start < piece.stop]

    def _slice(self, worker: int) -> tuple[int, int]:
        return slice_of(worker, self._sizes.workers, 0, self._layout.size, CHUNK)

    def _updated(self, worker: int) -> Iterator[tuple[int, int]]:
        share = share_of(self._config, self._layout, worker, self._sizes.workers)
        yield from ((start, stop) for start, stop, _ in share.slices)
        yield from ((offset, offset + rows * columns) for offset, rows, columns in share.matrices)

    def _start(self, sender: int, receiver: int) -> Iterator[Transfer]:
        if sender == 0:
            yield from (Transfer(name, 0, self._layout.size) for name in ("params", *self._moments))

    def _gradients(self, sender: int, receiver: int) -> Iterator[Transfer]:
        start, stop = self._slice(receiver)
        for root in roots_of(sender, self._sizes.workers, self._sizes.shards):
            row = root * self._layout.size
            yield Transfer("rows", row + start, row + stop)
        yield from self._shards(sender, receiver)
        yield Transfer("control", 1 + sender, 2 + sender)

    def _norms(self, sender: int, receiver: int) -> Iterator[Transfer]:
        start, stop = self._slice(sender)
        yield Transfer("squares", start // CHUNK, stop // CHUNK)
        for first, last in self._updated(receiver):  # slices are cut by group there, and matrices are whole
            yield Transfer("rows", max(start, first), min(stop, last))

    def _parameters(self, sender: int, receiver: int) -> Iterator[Transfer]:
        yield from (Transfer("params", start, stop) for start, stop in self._updated(sender))

    def _validation(self, sender: int, receiver: int) -> Iterator[Transfer]:
        shards = validation_of(sender, self._sizes.workers, self._sizes.validation_shards)
        yield from (Transfer(name, shards.start, shards.stop) for name in ("sums", "weights"))

    def _shards(self, sender: int, receiver: int) -> Iterator[Transfer]:
        shards = shards_of(sender, self._sizes.workers, self._sizes.shards)
        yield from (Transfer(name, shards.start, shards.stop) for name in ("losses", "flags"))

    def _checkpoint(self, sender: int, receiver: int) -> Iterator[Transfer]:
        if receiver == 0:
            yield from self._end(sender, receiver)

    def _end(self, sender: int, receiver: int) -> Iterator[Transfer]:
        for start, stop in self._updated(sender):
            yield from (Transfer(name, start, stop) for name in self._moments)
