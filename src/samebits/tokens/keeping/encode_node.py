"""What a worker keeps of the shards it encodes, and what it tells the driver: numbers, and rows that could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.data.readers.rowblock import BadRow
from samebits.tokens.encode import EncodedPart, EncodeShard, EncodeState
from samebits.tokens.keeping.kept_rows import group_pieces

__all__ = ["EncodeShards", "EncodedShard"]

NUM_NUMBERS = 8  # fields of an EncodedShard that are numbers, the first ones
ROW_ARRAYS = ("lengths", "lines", "prompts", "text_bytes")


class EncodedShard(NamedTuple):
    """What the driver is told of a shard.

    Attributes:
        num_lines: Lines read.
        num_used: Lines that became rows.
        num_rows: Rows; several for a line that was taken in windows.
        num_tokens: Ids of all rows.
        num_dropped: Lines that were too long and left out.
        num_cut: Lines that were too long and cut.
        num_unknown: Ids of the unknown token.
        text_bytes: Bytes of text.
        bad: Rows that could not be used.
        first_long: As in ``EncodedPart``.
        first_special: As in ``EncodedPart``.
    """

    num_lines: int
    num_used: int
    num_rows: int
    num_tokens: int
    num_dropped: int
    num_cut: int
    num_unknown: int
    text_bytes: int
    bad: list[BadRow]
    first_long: list[int]
    first_special: list[Any]

    @classmethod
    def of(cls, part: EncodedPart, unknown: int | None) -> Self:
        """Sum up a part."""
        return cls(
            num_lines=part.num_lines,
            num_used=len(_first_of_each(part.lines)),
            num_rows=len(part.lines),
            num_tokens=len(part.ids),
            num_dropped=len(part.dropped_lines),
            num_cut=len(part.cut_lines),
            num_unknown=0 if unknown is None else int(np.count_nonzero(part.ids == unknown)),
            text_bytes=int(part.text_bytes.sum(dtype=np.int64)),
            bad=part.bad,
            first_long=part.first_long,
            first_special=part.first_special,
        )


@dataclass(frozen=True, slots=True)
class EncodeShards:
    """Encode consecutive shards; their rows become one group.

    Attributes:
        encode: How.
        unknown: Id of the unknown token; None without one.
        most_used: Take no more lines of a shard than so many: the shard in which ``--limit`` is reached.
    """

    encode: EncodeShard
    unknown: int | None
    most_used: int | None = None

    def count(self, shards: Sequence[Shard], state: EncodeState, /) -> tuple[list[Any], list[Any]]:
        """Tell an ``EncodedShard`` for each shard; return the pieces of a group, whose lines count from the first shard's first."""
        told: list[Any] = []
        parts: list[EncodedPart] = []
        before: list[int] = [0]
        for shard in shards:
            part = self.encode(shard, state)
            part = part if self.most_used is None else _first_lines(part, self.most_used)
            told.append(list(EncodedShard.of(part, self.unknown)))
            parts.append(part)
            before.append(before[-1] + part.num_lines)
        lines = [part.lines.astype(np.int64) + first for part, first in zip(parts, before, strict=False)]
        pieces = group_pieces(
            np.concatenate([part.lengths for part in parts]),
            np.concatenate(lines),
            np.concatenate([part.prompts for part in parts]),
            [part.ids for part in parts],
        )
        return told, pieces

    def together(self, before: list[Any], after: list[Any], /) -> list[Any] | None:
        """Add up the numbers of two runs of shards with nothing else to tell."""
        if any(before[NUM_NUMBERS:]) or any(after[NUM_NUMBERS:]):
            return None
        numbers = zip(before[:NUM_NUMBERS], after[:NUM_NUMBERS], strict=True)
        return [*(one + other for one, other in numbers), *after[NUM_NUMBERS:]]


def _first_lines(part: EncodedPart, number: int) -> EncodedPart:
    """Cut a part after so many lines that became rows, as if the input had ended with the last of them."""
    first = _first_of_each(part.lines)
    stop = int(first[number]) if number < len(first) else len(part.lines)
    num_lines = int(part.lines[stop - 1]) + 1 if stop else 0
    cut = {name: getattr(part, name)[:stop] for name in ROW_ARRAYS}
    return part._replace(
        ids=part.ids[: int(cut["lengths"].sum(dtype=np.int64))],
        **cut,
        cut_lines=part.cut_lines[part.cut_lines < num_lines],
        dropped_lines=part.dropped_lines[part.dropped_lines < num_lines],
        bad=[row for row in part.bad if row["line"] < num_lines],
        num_lines=num_lines,
    )


def _first_of_each(lines: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the position of the first window of each line."""
    return np.flatnonzero(np.diff(lines.astype(np.int64), prepend=-1))
