"""A file of a store as workers write it: fixed bytes, columns of numbers, and ids, one section after the other.

Every byte has its place before the first one is written: a column has as many bytes for each row, ids have their own number. So a worker
can make any range of a file from the kept rows that fall into it (``tokens.keeping.kept_rows``), whatever its neighbours do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.folding.piece_files import PieceFolder
from samebits.tokens.keeping.kept_rows import KeptRows, RowTable

__all__ = ["STORE_FORMAT", "Column", "Ids", "Section", "StoreFile", "StoreShape"]

STORE_FORMAT = "samebits.tokens.v1"  # as ``data.token_store`` expects it, which takes long to import
CHUNK_BYTES = 4 << 20  # of a column, made at a time


@dataclass(frozen=True, slots=True)
class StoreShape:
    """What the files of a split have in common.

    Attributes:
        dtype: Type of a stored id, e.g. ``<u2``.
        width: Longest row; None when rows are never cut.
        pad: Id of padding.
        prompts: Whether the length of each row's prompt is stored.
    """

    dtype: str
    width: int | None
    pad: int
    prompts: bool


class Column(NamedTuple):
    """A section with the same number of bytes for each row.

    Attributes:
        values: Gives the values of rows ``[start, stop)`` of a group; a function of a module, so that plain pickle carries it.
        dtype: Type of a value.
        width: Values of a row; None where a row is one value, and the array has one axis.
    """

    values: Callable[[KeptRows, int, int, StoreShape], NDArray[Any]]
    dtype: str
    width: int | None = None

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return np.dtype(self.dtype).itemsize * (self.width or 1)


class Ids(NamedTuple):
    """A section of the ids of all rows, without anything between."""


Section = bytes | Column | Ids


@dataclass(frozen=True, slots=True)
class StoreFile:
    """What one file of a split holds; see ``data.folding.output_file.Content``."""

    table: RowTable
    shape: StoreShape
    sections: tuple[Section, ...]

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        return sum(map(self._size, self.sections))

    def _size(self, section: Section) -> int:
        if isinstance(section, bytes):
            return len(section)
        if isinstance(section, Column):
            return section.row_bytes * self.table.num_rows
        return np.dtype(self.shape.dtype).itemsize * self.table.num_tokens

    def chunks(self, folder: PieceFolder, start: int, stop: int) -> Iterator[memoryview]:
        """Yield the bytes of a range."""
        at = 0
        for section in self.sections:
            size = self._size(section)
            first, last = max(start - at, 0), min(stop - at, size)
            at += size
            if first >= last:
                continue
            if isinstance(section, bytes):
                yield memoryview(section)[first:last]
            elif isinstance(section, Column):
                yield from self._column(folder, section, first, last)
            else:
                yield from self._ids(folder, first, last)

    def _column(self, folder: PieceFolder, column: Column, start: int, stop: int) -> Iterator[memoryview]:
        """Yield bytes of a column: rows are made whole, and cut where the range begins or ends inside of one."""
        size = column.row_bytes
        step = max(1, CHUNK_BYTES // size)
        for rows in self._groups(folder, self.table.row, start // size, -(-stop // size)):
            for row in range(max(0, start // size - rows.first_row), rows.num_rows, step):
                at = (rows.first_row + row) * size
                if at >= stop:
                    break
                last = min(row + step, rows.num_rows, -(-stop // size) - rows.first_row)
                values = column.values(rows, row, last, self.shape)
                data = np.ascontiguousarray(values, column.dtype).data.cast("B")
                yield data[max(0, start - at) : stop - at]

    def _ids(self, folder: PieceFolder, start: int, stop: int) -> Iterator[memoryview]:
        """Yield bytes of the ids; a range may begin and end inside of one."""
        size = np.dtype(self.shape.dtype).itemsize
        first, last = start // size, -(-stop // size)
        for rows in self._groups(folder, self.table.token, first, last):
            begin = max(0, first - rows.tokens_before)
            at = (rows.tokens_before + begin) * size
            for ids in rows.id_pieces(begin, last - rows.tokens_before):
                data = ids.data.cast("B")
                yield data[max(0, start - at) : stop - at]
                at += len(data)

    def _groups(
        self, folder: PieceFolder, starts: NDArray[np.int64], first: int, last: int
    ) -> Iterator[KeptRows]:
        """Yield the groups that hold some of the rows or ids ``[first, last)``."""
        begin = int(np.searchsorted(starts, first, side="right")) - 1
        end = int(np.searchsorted(starts, last, side="left"))
        for number in range(begin, end):
            if starts[number] < starts[number + 1]:
                yield KeptRows(folder, self.table, number, self.shape.dtype)
