"""Rows as kernels want them: one byte buffer and two arrays of positions a column, no Python object a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass

__all__ = ["BadRow", "RowBlock", "TextColumn"]


class BadRow(TypedDict):
    """A record that is no row: its number within the shard, its byte offset in the file, and why.

    Plain data, so that a task can put it into its part. ``offset`` is None where bytes mean nothing (Parquet).
    """

    line: int
    offset: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class TextColumn:
    """One column: row ``i`` is ``buffer[starts[i]:stops[i]]``, valid UTF-8.

    >>> column = TextColumn(np.frombuffer(b"one two", np.uint8), np.array([0, 4]), np.array([3, 7]))
    >>> len(column), column[1], list(column.texts())
    (2, b'two', ['one', 'two'])
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, row: int) -> bytes:
        return self.buffer[self.starts[row] : self.stops[row]].tobytes()

    def texts(self) -> Iterator[str]:
        """Yield each row as ``str``; for code that is no kernel."""
        return (self[row].decode() for row in range(len(self)))


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows of a shard. ``num_lines == rows + num_blank + len(bad)``, always.

    A "line" is a record of the source: a line of text or JSON, a CSV record (the header does not count), a Parquet
    row. Numbers start at 0 with the shard and go on from block to block; the fold adds what came before.

    Attributes:
        columns: One ``TextColumn`` for each column asked for; all have the same number of rows.
        lines: Each row's line number within the shard.
        offsets: Each row's position in the (decompressed) file: byte offset of its record, Parquet: row number.
        num_lines: Records in this block, whatever became of them.
        num_blank: Records with nothing in them.
        bad: Records that cannot be used, in order.
    """

    columns: Mapping[str, TextColumn]
    lines: NDArray[np.int64]
    offsets: NDArray[np.int64]
    num_lines: int
    num_blank: int
    bad: list[BadRow]

    def __len__(self) -> int:
        return len(self.lines)
