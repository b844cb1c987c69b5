"""How counts become one ranked table, on the workers.

Counting: a run of shards fills one table, which is cut by the hash of the keys. Reducing: each partition is folded in shard
order and ranked by falling count, equal counts by their keys; it stays in blocks, of which the driver is told the first entry.
Writing: the ranking is cut at some of those entries, and each task merges what the partitions hold between two of them. The
table is these ranges one after the other; when all their sizes are known, workers write them to their places. No process ever holds all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.count.config import CountConfig
from samebits.data.folding.output_file import row_pieces
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.lower import lower_column
from samebits.data.readers.rows import BadRow, iter_rows
from samebits.kernels.text.countlines import count_lines
from samebits.kernels.text.ngrams import NgramTable
from samebits.kernels.text.ranks import merge_ranked

__all__ = ["WRITE", "CountFold", "Cut", "WriteRange", "choose_cuts"]

WRITE = "count write"  # the stage
BLOCK_ENTRIES = 4096  # of a ranked partition, at least; a task that writes reads whole blocks

Cut = tuple[int, bytes]  # (minus the count, key): cuts in their natural order are in the order of the ranking


class Entries(NamedTuple):
    """Counted keys: key i is ``keys[offsets[i]:offsets[i + 1]]``."""

    keys: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    def plain(self) -> list[Any]:
        """Return plain data, for a piece."""
        return [self.keys, self.offsets, self.counts]

    def slice(self, start: int, stop: int) -> Entries:
        """Return some consecutive entries."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Entries(self.keys[first:last], self.offsets[start : stop + 1] - first, self.counts[start:stop])

    def cut_at(self, entry: int) -> Cut:
        """Return the cut before an entry."""
        key = self.keys[int(self.offsets[entry]) : int(self.offsets[entry + 1])].tobytes()
        return -int(self.counts[entry]), key

    def find(self, cut: Cut) -> int:
        """Return how many ranked entries come before a cut."""
        negative = -self.counts
        start, stop = (int(np.searchsorted(negative, cut[0], side=side)) for side in ("left", "right"))
        return bisect_left(range(len(self.counts)), cut, start, stop, key=self.cut_at)


@dataclass(frozen=True, slots=True)
class CountFold:
    """Counts of a corpus, in so many partitions."""

    config: CountConfig
    partitions: int

    def count(self, shards: Sequence[Shard], state: Corpus, /) -> tuple[list[Any], list[Any]]:
        """Count the n-grams of some shards' rows; tell what was read of each shard."""
        table = NgramTable()
        told = [self._count_shard(table, shard, state) for shard in shards]
        return told, [list(piece) if len(piece[2]) else None for piece in table.partitions(self.partitions)]

    def together(self, before: list[Any], after: list[Any], /) -> list[Any] | None:
        """Add up what two runs of shards without bad rows have."""
        if before[0] or after[0]:
            return None
        return [[], before[1] + after[1], before[2] + after[2]]

    def _count_shard(self, table: NgramTable, shard: Shard, corpus: Corpus) -> list[Any]:
        num_lines, num_blank = 0, 0
        bad: list[BadRow] = []
        for block in iter_rows(corpus, shard, (self.config.column,)):
            text = block.columns[self.config.column]
            if self.config.lower:
                text = lower_column(text)
            count = table.count_words if self.config.unit == "word" else table.count_chars
            count(text.buffer, text.starts, text.stops, self.config.n)
            bad += block.bad
            num_lines, num_blank = num_lines + block.num_lines, num_blank + block.num_blank
        return [bad, num_lines, num_blank]

    def merge(self, pieces: Iterable[Any], /) -> list[Any]:
        """Add up counts."""
        keys, offsets, counts = _added(pieces).partitions(1)[0]
        return [keys, offsets, counts]

    def reduce(self, pieces: Iterable[Any], partition: int, /) -> tuple[Any, list[Any]]:
        """Add up and rank; tell sums, the commonest, and the first entry of each block."""
        table = _added(pieces)
        ranked = Entries(*table.take(table.ranking()))
        in_table = int(np.searchsorted(-ranked.counts, -self.config.min_count, side="right"))
        size = max(BLOCK_ENTRIES, -(-in_table // self.partitions))
        starts = range(0, in_table, size)
        told = {
            "counted": table.total,
            "distinct": len(table),
            "in_table": in_table,
            "top": [list(ranked.cut_at(entry)) for entry in range(min(self.config.top, in_table))],
            "starts": [list(ranked.cut_at(entry)) for entry in starts],
        }
        return told, [ranked.slice(start, min(start + size, in_table)).plain() for start in starts]


def _added(pieces: Iterable[Any]) -> NgramTable:
    table = NgramTable()
    for keys, offsets, counts in pieces:
        table.add(keys, offsets, counts)
    return table


def choose_cuts(starts: Sequence[Sequence[Cut]], number: int) -> list[Cut]:
    """Choose where to cut the ranking for ``number`` tasks: any cuts give the same table, even ones equal work.

    >>> choose_cuts([[(-9, b"a"), (-2, b"c")], [(-7, b"b"), (-1, b"d")]], 2)
    [(-2, b'c')]
    """
    blocks = sorted(start for own in starts for start in own)
    places = {len(blocks) * i // number for i in range(1, number)} - {0}
    return [blocks[place] for place in sorted(places) if place < len(blocks)]


@dataclass(frozen=True, slots=True)
class WriteRange:
    """The task that writes one range of the ranking: as JSON lines, or as columns for a Parquet file.

    Attributes:
        folder: Where the partitions are.
        cuts: Between the ranges.
        lines: Whether to write lines.
    """

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    cuts: tuple[Cut, ...]
    lines: bool

    def __call__(self, shard: Shard, state: Sequence[tuple[Sequence[Cut], Index]], /) -> KeptPart:
        """Merge one range of all partitions."""
        first = self.cuts[shard.index - 1] if shard.index else None
        last = self.cuts[shard.index] if shard.index < len(self.cuts) else None
        runs = [
            run
            for starts, index in state
            for run in [self._run(starts, index, first, last)]
            if len(run.counts)
        ]
        joined = _joined(runs)
        order = merge_ranked(*joined, np.cumsum([len(run.counts) for run in runs], dtype=np.int64))
        if self.lines:
            pieces = row_pieces(count_lines(*joined, order, b"ngram", b"count").data)
        else:
            from samebits.kernels.langid.text.words import copy_ranges

            keys, sizes = copy_ranges(joined.keys, joined.offsets[1:], order, 1)
            pieces = [[keys, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), joined.counts[order]]]
        return kept_part(self.folder, WRITE, shard.index, None, pieces)

    def _run(self, starts: Sequence[Cut], index: Index, first: Cut | None, last: Cut | None) -> Entries:
        """Return the entries of one partition from ``first`` up to ``last``: only the blocks that may hold some are read."""
        found = []
        for number, start in enumerate(starts):
            next_start = starts[number + 1] if number + 1 < len(starts) else None
            if (last is not None and start >= last) or (
                first is not None and next_start is not None and next_start <= first
            ):
                continue
            block = Entries(*self.folder.read(index, number))
            begin = block.find(first) if first is not None else 0
            end = block.find(last) if last is not None else len(block.counts)
            found.append(block.slice(begin, end))
        return _joined(found)


def _joined(pieces: Sequence[Entries]) -> Entries:
    """Put entries one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    lengths = [np.zeros(1, np.int64), *(np.diff(piece.offsets) for piece in pieces)]
    return Entries(
        np.concatenate([np.empty(0, np.uint8), *(piece.keys for piece in pieces)]),
        np.cumsum(np.concatenate(lengths)),
        np.concatenate([np.empty(0, np.int64), *(piece.counts for piece in pieces)]),
    )
