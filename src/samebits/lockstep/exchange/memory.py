"""One anonymous mapping that all processes of a run share: parameters, moments, gradient rows and a few numbers.

A memfd has no name, so nothing is left behind however the run ends, and it counts as memory of the run instead of filling
``/dev/shm`` (64 MB in many containers). Children get it as an inherited file descriptor.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.lockstep.problem.layout import CHUNK
from samebits.lockstep.problem.objective import Floats

__all__ = ["Sizes", "State", "create_memory", "map_memory", "map_pulses"]

PAGE = 4096  # bytes; arrays start on pages


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the size of a mapping depends on."""

    floats: int
    shards: int
    workers: int
    validation_shards: int
    averaged: bool = False

    def arrays(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Return type and shape of every array, in order."""
        return {
            "pulses": ("i8", (self.workers,)),  # first: found by those who do not know the other sizes yet
            "params": ("f4", (self.floats,)),
            "first": ("f4", (self.floats,)),
            "second": ("f4", (self.floats,)),
            "average": ("f4", (self.floats if self.averaged else 0,)),
            "rows": ("f4", (self.shards, self.floats)),
            "losses": ("f8", (self.shards,)),
            "squares": ("f8", (self.floats // CHUNK,)),
            "sums": ("f8", (max(1, self.validation_shards),)),
            "weights": ("f8", (max(1, self.validation_shards),)),
            "flags": ("i8", (max(self.shards, self.workers),)),
            "control": ("i8", (1 + self.workers,)),
            "ticks": ("i8", (1,)),
            "taken": ("i8", (self.shards,)),
            "hands": ("i8", (self.workers,)),
        }

    @property
    def num_bytes(self) -> int:
        """Bytes of the whole mapping."""
        return sum(_pages(kind, shape) for kind, shape in self.arrays().values())


@dataclass(frozen=True)
class State:
    """The arrays of a mapping.

    Attributes:
        params: Parameters (P).
        first: First moment or momentum (M).
        second: Second moment (V).
        average: Average of the parameters; empty where none is asked for.
        rows: One gradient for each shard; merges happen in place and row 0 ends as their mean.
        losses: Loss of each shard.
        squares: Sum of squares of each chunk of the mean gradient.
        sums: Weighted loss of each validation shard.
        weights: Its weight.
        flags: Votes and probes, one a worker; bad shards, one a shard.
        pulses: A counter each worker keeps raising while it lives.
        control: What the parent wants; then, for each worker that has one of its own, what that is in this step.
        ticks: A counter that the parent of a rank keeps raising.
        taken: Which shards of the step somebody has taken in hand.
        hands: The shard each worker has in hand, counted from 1; 0 if none.
    """

    params: Floats
    first: Floats
    second: Floats
    average: Floats
    rows: Floats
    losses: NDArray[np.float64]
    squares: NDArray[np.float64]
    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    flags: NDArray[np.int64]
    pulses: NDArray[np.int64]
    control: NDArray[np.int64]
    ticks: NDArray[np.int64]
    taken: NDArray[np.int64]
    hands: NDArray[np.int64]


def _pages(kind: str, shape: tuple[int, ...]) -> int:
    size = prod(shape) * np.dtype(kind).itemsize
    return -(-size // PAGE) * PAGE


def create_memory(sizes: Sizes) -> int:
    """Return the descriptor of a new mapping full of zeros."""
    descriptor = os.memfd_create("samebits-lockstep", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, sizes.num_bytes)
    return descriptor


def map_pulses(descriptor: int, workers: int) -> NDArray[np.int64]:
    """Map the pulses alone."""
    return np.frombuffer(mmap.mmap(descriptor, 8 * workers), np.int64)


def map_memory(descriptor: int, sizes: Sizes) -> State:
    """Map it into this process; the arrays keep the mapping alive."""
    mapping = mmap.mmap(descriptor, sizes.num_bytes)
    arrays: dict[str, Any] = {}
    position = 0
    for name, (kind, shape) in sizes.arrays().items():
        count = prod(shape)
        arrays[name] = np.frombuffer(mapping, kind, count, position).reshape(shape)
        position += _pages(kind, shape)
    return State(**arrays)
