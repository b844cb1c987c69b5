"""From whole records to rows: split, check the encoding, take out the wanted columns.

Each format is three kernels in a row, over the whole piece at once: *split* (where records start and stop),
*classify* (blank, invalid UTF-8), *extract* (the columns). What a kernel cannot take is a bad record, with a
reason in words; nothing is dropped without being counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.readers.pieces import Piece, too_long
from samebits.data.readers.rowblock import BadRow, RowBlock, TextColumn
from samebits.kernels.text import lines

__all__ = ["PieceParser", "Records", "TextParser", "block_of", "columns_of", "split_piece"]


class PieceParser(Protocol):
    """Turns the records of one piece into rows."""

    def __call__(self, piece: Piece, *, first_line: int) -> RowBlock:
        """Parse; ``first_line`` is the number of the piece's first record within the shard."""
        ...


@dataclass(slots=True)
class Records:
    """The records of a piece while they are sorted into rows, blank and bad ones.

    Attributes:
        starts: Where each starts in the piece's buffer.
        stops: Where each stops.
        kinds: ``TEXT``, ``BLANK`` or ``INVALID`` for each.
        reasons: Why, for each bad record by its number in the piece.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    reasons: dict[int, str]

    def rows(self) -> NDArray[np.int64]:
        """Return the numbers of the records that are rows."""
        return np.flatnonzero(self.kinds == lines.TEXT)

    def refuse(self, record: int, reason: str) -> None:
        """Make a record bad."""
        self.kinds[record] = lines.INVALID
        self.reasons[record] = reason


def split_piece(
    piece: Piece, starts: NDArray[np.int64], stops: NDArray[np.int64], *, max_line_bytes: int
) -> Records:
    """Classify the records of a piece and give the reasons of those that are too long or no UTF-8."""
    data = piece.buffer
    records = Records(starts, stops, lines.classify_lines(data, starts, stops), {})
    for record in np.flatnonzero(records.kinds == lines.INVALID).tolist():
        start, stop = int(starts[record]), int(stops[record])
        at = lines.find_invalid(data, start, stop)
        records.reasons[record] = f"invalid UTF-8 at byte {at - start}: 0x{data[at]:02x}"
    if len(data) > max_line_bytes:
        for record in np.flatnonzero(stops - starts > max_line_bytes).tolist():
            records.refuse(record, too_long(0, max_line_bytes).reason)
    return records


def block_of(
    piece: Piece,
    records: Records,
    rows: NDArray[np.int64],
    columns: Mapping[str, TextColumn],
    *,
    first_line: int,
) -> RowBlock:
    """Put a block together; the columns hold the given rows, in order."""
    num_lines = len(records.kinds)
    bad = [
        BadRow(line=first_line + record, offset=piece.base + int(records.starts[record]), reason=reason)
        for record, reason in sorted(records.reasons.items())
    ]
    if piece.fault is not None:
        bad.append(BadRow(line=first_line + num_lines, offset=piece.fault.offset, reason=piece.fault.reason))
        num_lines += 1
    return RowBlock(
        columns=columns,
        lines=first_line + rows,
        offsets=piece.base + records.starts[rows],
        num_lines=num_lines,
        num_blank=num_lines - len(rows) - len(bad),
        bad=bad,
    )


def columns_of(
    names: Sequence[str],
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> dict[str, TextColumn]:
    """Take the rows out of positions of shape (columns, records)."""
    return {name: TextColumn(buffer, starts[k, rows], stops[k, rows]) for k, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class TextParser:
    """Plain text: a row is a line that is not blank; its one column is ``text``."""

    columns: Sequence[str]
    max_line_bytes: int

    def __call__(self, piece: Piece, *, first_line: int) -> RowBlock:
        """Split and classify; the lines themselves are the column."""
        starts, stops = lines.split_lines(piece.buffer, piece.start, piece.stop)
        records = split_piece(piece, starts, stops, max_line_bytes=self.max_line_bytes)
        rows = records.rows()
        if len(rows) < len(starts):
            starts, stops = starts[rows], stops[rows]
        columns = dict.fromkeys(self.columns, TextColumn(piece.buffer, starts, stops))
        return block_of(piece, records, rows, columns, first_line=first_line)
