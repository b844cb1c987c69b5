"""Which split a row goes to, and in which order rows stand: arranged by workers, from kept rows to kept rows.

``split_rows``    one task for each group sends its rows to their splits, by a hash of (seed, row number)
``shuffle_rows``  an exchange: each task cuts its group by where rows will stand (``scatter``), then one task for each range of
                  places puts the rows of all groups in order (``order``)

Both need what no encoding task knows, the number of lines before it. The ranges come from the size of the split alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.shape import consecutive
from samebits.data.folding.tree import Folding, KeptPart, kept_part
from samebits.kernels.tokens.order import hash_rows, slots_of
from samebits.kernels.tokens.rows import copy_ranges
from samebits.tokens.keeping.kept_rows import Group, KeptRows, RowTable, group_pieces
from samebits.tokens.stages import SPLIT

__all__ = ["shuffle_rows", "split_rows"]

RANGE_BYTES = 64 << 20  # of ids that one task puts in order
MOST_RANGES = 256


class PickedRows(NamedTuple):
    """Some rows of a group, in any order."""

    lengths: NDArray[np.int64]
    source: NDArray[np.int64]
    prompts: NDArray[np.int64]
    ids: NDArray[Any]


def _picked(rows: KeptRows, pick: NDArray[Any]) -> PickedRows:
    """Return the rows with these numbers, or those that are marked."""
    stops, lengths = rows.stops[pick], rows.lengths[pick]
    stream = rows.ids(0, int(rows.stops[-1]) if rows.num_rows else 0)
    ids = np.empty(int(lengths.sum()), stream.dtype)
    copy_ranges(stream, stops - lengths, stops, ids)
    return PickedRows(lengths, rows.source[pick], rows.prompts[pick], ids)


@dataclass(frozen=True, slots=True)
class SplitGroup:
    """The task: the rows of a group for ``train``, then those for ``val``; tells rows, ids and pieces of each.

    Attributes:
        folder: Where rows are kept.
        seed: Of the split.
        threshold: Rows with a smaller hash go to ``val``.
        dtype: Type of an id.
    """

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    seed: int
    threshold: int
    dtype: str

    def __call__(self, shard: Shard, state: RowTable, /) -> KeptPart:
        """Split one group."""
        rows = KeptRows(self.folder, state, shard.start, self.dtype)
        is_val = hash_rows(self.seed, rows.source) < np.uint64(self.threshold)
        told, pieces = [], []
        for pick in (~is_val, is_val):
            lengths, source, prompts, ids = _picked(rows, pick)
            own = group_pieces(lengths, source, prompts, [ids])
            told.append([len(lengths), len(ids), len(own)])
            pieces += own
        return kept_part(self.folder, SPLIT, shard.index, told, pieces)


def split_rows(
    workers: Folding, table: RowTable, *, seed: int, val_ratio: float, dtype: str
) -> dict[str, RowTable]:
    """Send rows to ``train`` and ``val``; repairing one bad line moves no other row, and appending input moves none either."""
    task = SplitGroup(workers.folder, seed, int(val_ratio * 2.0**64), dtype)
    groups: tuple[list[Group], list[Group]] = [], []
    sizes: tuple[list[list[int]], list[list[int]]] = [], []
    for _, part in workers.map(SPLIT, task, consecutive(len(table.groups), 1), table, unit="parts"):
        first = 0
        for split, (num_rows, num_tokens, num_pieces) in enumerate(part.told):
            groups[split].append(Group(part.pieces, first, first + num_pieces))
            sizes[split].append([num_rows, num_tokens])
            first += num_pieces
    zeros = [0] * len(table.groups)
    return {name: RowTable.of(groups[i], sizes[i], zeros) for i, name in enumerate(("train", "val"))}


@dataclass(frozen=True, slots=True)
class ScatterGroup:
    """The task: the rows of a group, cut by the range in which they will stand.

    Attributes:
        folder: Where rows are kept.
        stage: Its name.
        key: Of the order.
        bounds: First place of each range, and the end.
        dtype: Type of an id.
    """

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    key: int
    bounds: tuple[int, ...]
    dtype: str

    def __call__(self, shard: Shard, state: RowTable, /) -> KeptPart:
        """Scatter one group."""
        rows = KeptRows(self.folder, state, shard.start, self.dtype)
        numbers = np.arange(rows.first_row, rows.first_row + rows.num_rows)
        slots = slots_of(self.key, state.num_rows, numbers)
        order = np.argsort(slots)
        cuts = np.searchsorted(slots[order], np.array(self.bounds)).tolist()
        pieces = []
        for place, start, stop in zip(self.bounds, cuts, cuts[1:], strict=False):
            pick = order[start:stop]
            pieces.append([slots[pick] - place, *_picked(rows, pick)] if start < stop else None)
        return kept_part(self.folder, self.stage, shard.index, None, pieces)


@dataclass(frozen=True, slots=True)
class OrderRange:
    """The task: the rows of one range of places, from all groups, in their order; tells rows and ids."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    dtype: str

    def __call__(self, shard: Shard, state: Sequence[Index], /) -> KeptPart:
        """Put one range in order."""
        found = [
            [np.empty(0, np.int64)] * 4 + [np.empty(0, self.dtype)],
            *self.folder.read_all(state, shard.start),
        ]
        slots, lengths, source, prompts, ids = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.empty(len(slots), np.int64)
        order[slots] = np.arange(len(slots))
        stops = np.cumsum(lengths)
        ordered = np.empty(len(ids), self.dtype)
        copy_ranges(ids, (stops - lengths)[order], stops[order], ordered)
        pieces = group_pieces(lengths[order], source[order], prompts[order], [ordered])
        return kept_part(self.folder, self.stage, shard.index, [len(slots), len(ids)], pieces)


def shuffle_rows(workers: Folding, table: RowTable, split: str, *, key: int, dtype: str) -> RowTable:
    """Put the rows of a split into an order drawn from the key."""
    ranges = -(-table.num_tokens * np.dtype(dtype).itemsize // RANGE_BYTES)
    ranges = max(1, min(ranges, MOST_RANGES, table.num_rows))
    bounds = tuple(table.num_rows * i // ranges for i in range(ranges + 1))
    scatter = ScatterGroup(workers.folder, f"scatter {split}", key, bounds, dtype)
    groups = consecutive(len(table.groups), 1)
    parts = workers.map(scatter.stage, scatter, groups, table, unit="parts")
    scattered = [part.pieces for _, part in parts]
    order = OrderRange(workers.folder, f"order {split}", dtype)
    ordered = [
        (part.pieces, part.told)
        for _, part in workers.map(order.stage, order, consecutive(ranges, 1), scattered, unit="ranges")
    ]
    return RowTable.of(
        [Group(index, 0, len(index.sizes)) for index, _ in ordered],
        [told for _, told in ordered],
        [0] * ranges,
    )
