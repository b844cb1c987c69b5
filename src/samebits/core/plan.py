"""What will be done, cut into shards, before anyone asks who does it.

A plan is a pure function of Config and input: it never sees the worker count, so the digest of a plan is the same on
a laptop and on a cluster. A shard is the unit of retry, resume and order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.core.digest import canonical_json
from samebits.core.light_dataclass import dataclass

__all__ = ["Plan", "Shard", "ShardTable", "cut"]


@dataclass(frozen=True, slots=True)
class Shard:
    """A half-open range ``[start, stop)`` of one source, in that source's own unit (bytes, rows, row groups)."""

    index: int
    source: int
    start: int
    stop: int


class ShardTable(Sequence[Shard]):
    """All shards of a plan as three int64 columns: a million of them are planned in milliseconds and 24 MB.

    >>> table = ShardTable.from_ranges(source=[0, 0, 1], start=[0, 10, 0], stop=[10, 15, 3])
    >>> table[1]
    Shard(index=1, source=0, start=10, stop=15)
    >>> len(table), table.num_units
    (3, 18)
    """

    def __init__(self, columns: NDArray[np.int64]) -> None:
        self.columns = columns  # (3, shards): source, start, stop

    @classmethod
    def from_ranges(cls, *, source: ArrayLike, start: ArrayLike, stop: ArrayLike) -> ShardTable:
        """Build a table from three equally long columns."""
        columns = np.array([source, start, stop], dtype=np.int64).reshape(3, -1)
        columns.setflags(write=False)
        return cls(columns)

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    @overload
    def __getitem__(self, key: int) -> Shard: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Shard]: ...
    def __getitem__(self, key: int | slice) -> Shard | Sequence[Shard]:
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
        index = key + len(self) if key < 0 else key
        if not 0 <= index < len(self):
            raise IndexError(f"shard {key} of {len(self)}")
        source, start, stop = self.columns[:, index].tolist()
        return Shard(index, source, start, stop)

    def __iter__(self) -> Iterator[Shard]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardTable) and np.array_equal(self.columns, other.columns)

    __hash__ = None  # type: ignore[assignment]  # a table is data, not a key

    @property
    def num_units(self) -> int:
        """Total length of all shards, for progress."""
        return int((self.columns[2] - self.columns[1]).sum())

    @property
    def digest(self) -> str:
        """Digest of all ranges in order."""
        return hashlib.sha256(self.columns.astype("<i8").tobytes()).hexdigest()


def cut(sizes: Sequence[int] | NDArray[np.int64], cell: int) -> ShardTable:
    """Cut sources of the given sizes on a grid of ``cell`` units; no shard crosses a source, no unit is lost.

    An empty source gets no shard: there is nothing in it to do.

    >>> [(s.source, s.start, s.stop) for s in cut([5, 0, 4], cell=4)]
    [(0, 0, 4), (0, 4, 5), (2, 0, 4)]
    """
    if cell < 1:
        raise ValueError(f"cell must be at least 1, not {cell}")
    size_of = np.asarray(sizes, dtype=np.int64)
    num_cells = -(-size_of // cell)
    source = np.repeat(np.arange(len(size_of), dtype=np.int64), num_cells)
    first = np.repeat(np.cumsum(num_cells) - num_cells, num_cells)
    start = (np.arange(len(source), dtype=np.int64) - first) * cell
    return ShardTable.from_ranges(source=source, start=start, stop=np.minimum(start + cell, size_of[source]))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that identifies a run's result.

    Attributes:
        job: Name of the job.
        version: Version of the job; raised when its output bytes change.
        seed: Root of all randomness.
        config_digest: Digest of the Config without its locations.
        input_digest: Digest of the inputs' names, sizes and contents.
        source_names: Names of the sources, for messages; never machine paths.
        shards: What is to be done.
        inputs: Where the inputs are (for tasks); an accident of the machine, so not digested.
    """

    job: str
    version: int
    seed: int
    config_digest: str
    input_digest: str
    source_names: tuple[str, ...]
    shards: ShardTable
    inputs: Any = field(default=None, repr=False, compare=False)

    def fields(self) -> dict[str, str | int]:
        """Return what is digested, in the order in which differences are worth reporting."""
        return {
            "job": self.job,
            "version": self.version,
            "seed": self.seed,
            "config_digest": self.config_digest,
            "input_digest": self.input_digest,
            "num_shards": len(self.shards),
            "shards_digest": self.shards.digest,
        }

    @cached_property
    def digest(self) -> str:
        """Digest of the whole plan."""
        return hashlib.sha256(canonical_json(self.fields())).hexdigest()

    def describe(self, shard: Shard) -> str:
        """Say which part of which source a shard is, for messages."""
        name = self.source_names[shard.source] if shard.source < len(self.source_names) else "?"
        return f"shard {shard.index} ({name}, {shard.start}..{shard.stop})"
