"""Distinct pre-tokens of a sample of the rows, counted by the workers.

The sample is chosen by a hash of (file, byte offset). Counts are integers that are added up and sorted by their bytes, so
neither the number of workers nor the way the input is cut reaches what is learned from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.core.seeds import key_for
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rows import BadRow, iter_rows
from samebits.errors import InputError
from samebits.kernels.tokens.order import hash_rows
from samebits.kernels.tokens.pretokens import PretokenCounts
from samebits.tokens.character_classes import character_classes
from samebits.tokens.training.settings import LearnSettings

__all__ = ["Counted", "count_pretokens"]


class Counted(NamedTuple):
    """Pre-token ``i`` is ``keys[offsets[i]:offsets[i + 1]]`` and occurs ``counts[i]`` times."""

    keys: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    def by_text(self) -> dict[str, int]:
        """Return the counts by text, sorted by its bytes."""
        data, offsets = self.keys.tobytes(), self.offsets.tolist()
        pairs = zip(offsets, offsets[1:], self.counts.tolist(), strict=False)
        return {text.decode(): n for text, n in sorted((data[a:b], n) for a, b, n in pairs)}


class PretokensPart(NamedTuple):
    """The pre-tokens of one shard, as in ``Counted``, and what was bad."""

    keys: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    bad: list[BadRow]
    num_lines: int


@dataclass(frozen=True, slots=True)
class CountPretokens:
    """Count the pre-tokens of one shard.

    Attributes:
        columns: Columns that hold the text.
        seed: Seed of the sample.
        threshold: Rows whose hash is not above it are taken.
        max_line_bytes: A longer line is a bad row.
        spaces_only: Whether texts are only cut at white space.
    """

    part_type: ClassVar = PretokensPart
    columns: tuple[str, ...]
    seed: int
    threshold: int
    max_line_bytes: int
    spaces_only: bool

    def __call__(self, shard: Shard, state: Corpus, /) -> PretokensPart:
        """Return distinct pre-tokens, one after the other, with offsets and counts."""
        table = PretokenCounts()
        bad: list[BadRow] = []
        num_lines = 0
        key = key_for(self.seed, "tokens", "sample", shard.source) & ((1 << 64) - 1)
        for block in iter_rows(state, shard, self.columns, max_line_bytes=self.max_line_bytes):
            chosen = np.flatnonzero(hash_rows(key, block.offsets) <= np.uint64(self.threshold))
            for column in block.columns.values():
                starts, stops = column.starts[chosen], column.stops[chosen]
                if self.spaces_only:
                    table.add_words(column.buffer, starts, stops)
                else:
                    table.add_rows(column.buffer, starts, stops, character_classes())
            bad += block.bad
            num_lines += block.num_lines
        keys, offsets, counts = table.counted()
        return PretokensPart(keys, offsets, counts, bad, num_lines)


def count_pretokens(
    plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None, *, spaces_only: bool
) -> Counted:
    """Count the pre-tokens of a sample; bad rows are reported to ``out`` when one is given.

    Raises:
        InputError: if there is no text.
    """
    size = plan.inputs.likely_text_bytes
    share = min(1.0, settings.sample_mb * 1e6 / max(size, 1))
    threshold = min(int(share * 2**64), 2**64 - 1)
    task = CountPretokens(settings.columns, settings.seed, threshold, settings.max_line_bytes, spaces_only)
    table = PretokenCounts()
    for shard, part in engine.map_ordered("learn", task, plan.shards, state=plan.inputs, unit="bytes"):
        table.add_counts(part.keys, part.offsets, part.counts)
        if out is not None:
            out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
    if not len(table):
        if out is not None:
            out.bad_rows.check()  # a column that no row has is the likelier mistake
        raise InputError("no text to learn from", path=", ".join(plan.source_names[:3]))
    return Counted(*table.counted())
