"""Rows that workers keep for one another: encoded by one, written into the store by another, never by way of the driver.

A *group* of rows is some raw pieces of a kept file: lengths, lines and prompts, one number for each row, then the ids of all rows in as
many pieces as they take. ``RowTable`` says where the groups of a split are and how many rows and ids come before each of them, which is all that
is needed to find the place of every row in the store; ``KeptRows`` reads one group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.folding.output_file import row_pieces
from samebits.data.folding.piece_files import Index, PieceFolder

__all__ = ["IDS", "Group", "KeptRows", "RowTable", "group_pieces"]

LENGTHS, LINES, PROMPTS, IDS = range(4)
WIDE = 1 << 32


def group_pieces(
    lengths: NDArray[Any], lines: NDArray[Any], prompts: NDArray[Any], ids: Sequence[NDArray[Any]]
) -> list[Any]:
    """Return the pieces of a group; its ids may be given in several arrays."""
    line_type = "<u4" if int(lines.max(initial=0)) < WIDE else "<u8"
    numbers = [_raw(lengths, "<u4"), _raw(lines, line_type), _raw(prompts, "<u4")]
    return numbers + [piece for some in ids for piece in row_pieces(_raw(some, some.dtype.newbyteorder("<")))]


def _raw(values: NDArray[Any], dtype: Any) -> memoryview:
    """Return the bytes of an array; one that is empty cannot be cast."""
    return np.ascontiguousarray(values, dtype).data.cast("B") if len(values) else memoryview(b"")


class Group(NamedTuple):
    """Rows in a kept file: pieces ``[first, stop)``."""

    file: Index
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class RowTable:
    """Where the rows of a split are, in their order.

    Attributes:
        groups: One after the other.
        row: Rows before each group; the last number is that of all rows.
        token: Ids before each group, likewise.
        line: What is to be added to the lines of a group, which may count from its own first line.
    """

    groups: tuple[Group, ...]
    row: NDArray[np.int64]
    token: NDArray[np.int64]
    line: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Sequence[Group], sizes: Sequence[Sequence[int]], lines: Sequence[int]) -> Self:
        """Make a table of groups with these numbers of (rows, ids)."""
        columns = np.array(sizes, np.int64).reshape(-1, 2)
        row, token = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(columns, axis=0)]).T
        return cls(tuple(groups), row, token, np.array(lines, np.int64))

    @property
    def num_rows(self) -> int:
        """All rows."""
        return int(self.row[-1])

    @property
    def num_tokens(self) -> int:
        """All ids."""
        return int(self.token[-1])


class KeptRows:
    """The rows of one group; each of its pieces is read when it is first asked for.

    Attributes:
        first_row: Number of its first row in the split.
        tokens_before: Ids of the split before it.
        num_rows: Its rows.
    """

    def __init__(self, folder: PieceFolder, table: RowTable, number: int, dtype: str) -> None:
        self.first_row, self.tokens_before = int(table.row[number]), int(table.token[number])
        self.num_rows = int(table.row[number + 1]) - self.first_row
        self._folder, self._group = folder, table.groups[number]
        self._first_line, self._dtype = int(table.line[number]), np.dtype(dtype)
        self._read: dict[int, NDArray[Any]] = {}

    def _array(self, piece: int, dtype: Any) -> NDArray[Any]:
        index, number = self._group.file, self._group.first + piece
        if not index.sizes[number]:
            return np.empty(0, dtype)  # there may be no file at all
        return np.frombuffer(self._folder.read_bytes(index, number), dtype)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Ids of each row."""
        return self._array(LENGTHS, "<u4").astype(np.int64)

    @cached_property
    def stops(self) -> NDArray[np.int64]:
        """Where the ids of each row end, counted from the first id of the group."""
        return np.cumsum(self.lengths)

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """Row number in the input of each row."""
        size = self._group.file.sizes[self._group.first + LINES]
        wide = self.num_rows and size // self.num_rows == 8
        return self._array(LINES, "<u8" if wide else "<u4").astype(np.int64) + self._first_line

    @cached_property
    def prompts(self) -> NDArray[np.int64]:
        """Ids of each row up to and including its first separator."""
        return self._array(PROMPTS, "<u4").astype(np.int64)

    @cached_property
    def _id_starts(self) -> NDArray[np.int64]:
        sizes = self._group.file.sizes[self._group.first + IDS : self._group.stop]
        return np.cumsum([0, *(size // self._dtype.itemsize for size in sizes)])

    def ids(self, start: int, stop: int) -> NDArray[Any]:
        """Return some ids of the group; pieces stay in memory for those after them."""
        found = []
        for piece, part in self._span(start, stop):
            if piece not in self._read:
                self._read[piece] = self._array(IDS + piece, self._dtype)
            found.append(self._read[piece][part])
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0, self._dtype), *found])

    def id_pieces(self, start: int, stop: int) -> Iterator[NDArray[Any]]:
        """Yield some ids of the group, piece by piece; none is held longer than it is looked at."""
        return (self._array(IDS + piece, self._dtype)[part] for piece, part in self._span(start, stop))

    def _span(self, start: int, stop: int) -> Iterator[tuple[int, slice]]:
        """Yield which pieces hold the ids of a range, and what of each."""
        first = int(np.searchsorted(self._id_starts, start, side="right")) - 1
        for piece in range(first, len(self._id_starts) - 1):
            begin = int(self._id_starts[piece])
            if begin >= stop:
                return
            yield piece, slice(max(0, start - begin), stop - begin)
