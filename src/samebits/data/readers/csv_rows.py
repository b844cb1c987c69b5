"""Comma- and tab-separated files: the first record names the columns, every other one must have as many fields.

Reading follows RFC 4180 where it speaks and Python's ``csv`` where it does not: a quote means something only at the
start of a field. A record may span lines; it counts as one "line" of a ``RowBlock``, and the header as none.

To cut a file at any byte, the state of the record automaton at the start of each block is noted when the file is
hashed (``CsvStates``); a task starts from there.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from samebits.data.inputs.blocks import VerifiedFile
from samebits.data.readers.parse import block_of, columns_of, split_piece
from samebits.data.readers.pieces import Piece, Scan, bom_length, read_cell, too_long
from samebits.data.readers.rowblock import RowBlock
from samebits.errors import InputError, did_you_mean
from samebits.kernels.text import csvrows, lines

__all__ = ["CsvFraming", "CsvParser", "CsvStates", "header_of", "read_header", "split_header"]


class CsvStates:
    """Notes the state at the start of each block while a file is read from its start."""

    def __init__(self, delimiter: int) -> None:
        self._delimiter = delimiter
        self._state = 0
        self._states = bytearray()

    def add(self, block: memoryview) -> None:
        """Take the next block."""
        start = bom_length(np.frombuffer(block[:3], dtype=np.uint8)) if not self._states else 0
        self._states.append(self._state)
        self._state, _, _ = csvrows.scan_records(block, start, len(block), self._state, self._delimiter)

    def __bytes__(self) -> bytes:
        return bytes(self._states)


@dataclass(frozen=True, slots=True)
class CsvFraming:
    """Where records end; ``states`` holds one byte a block, or nothing for a file that is read from its start."""

    delimiter: int
    states: bytes = b"\0"

    def scan(self, data: NDArray[np.uint8], start: int, stop: int, state: int) -> Scan:
        """Walk the automaton."""
        state, first, last = csvrows.scan_records(data, start, stop, state, self.delimiter)
        return Scan(state, first or None, last or None)

    def state_at(self, block: int) -> int:
        """Look it up."""
        return self.states[block]


def read_header(file: VerifiedFile, framing: CsvFraming, *, max_line_bytes: int) -> Piece:
    """Read the first record alone: what a cell of one byte owns."""
    return read_cell(file, 0, 1, framing=framing, max_line_bytes=max_line_bytes)


def split_header(piece: Piece, framing: CsvFraming) -> tuple[Piece, Piece]:
    """Split the first piece of a file into its header record and the rest; a fault stays with the last record."""
    end = framing.scan(piece.buffer, piece.start, piece.stop, 0).first or piece.stop
    fault = piece.fault if piece.start == piece.stop else None
    return replace(piece, stop=end, fault=fault), replace(piece, start=end)


def header_of(piece: Piece, delimiter: int, *, max_line_bytes: int, origin: str) -> list[str]:
    """Return the names of the columns from the piece that holds the header record.

    Raises:
        InputError: It is too long, no UTF-8, empty or malformed.
    """
    fault = piece.fault
    if piece.stop - piece.start > max_line_bytes:
        fault = too_long(piece.base, max_line_bytes)
    reason = fault.reason if fault else ""
    try:
        text = piece.buffer[piece.start : piece.stop].tobytes().decode().rstrip("\r\n")
        names = next(csv.reader([text], delimiter=chr(delimiter), strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        reason, names = str(error), []
    if reason or not names:
        what = reason or "it is empty"
        raise InputError(
            f"the header row cannot be used: {what}", path=origin, line=1, offset=piece.base + piece.start
        )
    return names


@dataclass(frozen=True, slots=True)
class CsvParser:
    """Reads the wanted columns of each record.

    Attributes:
        columns: The wanted columns.
        column_of: For each field of a record the number of the column it goes to, or -1.
    """

    columns: Sequence[str]
    column_of: NDArray[np.int64]
    delimiter: int
    max_line_bytes: int

    @classmethod
    def for_header(
        cls, header: list[str], columns: Sequence[str], *, delimiter: int, max_line_bytes: int, origin: str
    ) -> CsvParser:
        """Find the columns in a header.

        Raises:
            InputError: A column is not there, or there twice.
        """
        column_of = np.full(len(header), -1, dtype=np.int64)
        for number, name in enumerate(columns):
            if header.count(name) != 1:
                found = header.count(name)
                what = f"{found} columns" if found else "no column"
                hint = "" if found else did_you_mean(name, header)
                raise InputError(
                    f"{what} {name!r} in the header", path=origin, hint=hint, column="" if found else name
                )
            column_of[header.index(name)] = number
        return cls(columns, column_of, delimiter, max_line_bytes)

    def __call__(self, piece: Piece, *, first_line: int) -> RowBlock:
        """Split, classify, extract."""
        data = piece.buffer
        starts, stops = csvrows.split_records(data, piece.start, piece.stop, self.delimiter)
        records = split_piece(piece, starts, stops, max_line_bytes=self.max_line_bytes)
        # A record of spaces or tabs has fields; only an empty line is blank.
        records.kinds[(records.kinds == lines.BLANK) & (starts < stops)] = lines.TEXT
        faults, counts, value_starts, value_stops = csvrows.extract_fields(
            data, starts, stops, records.kinds, self.delimiter, self.column_of, len(self.columns)
        )
        for record in np.flatnonzero(faults).tolist():
            records.refuse(record, self._reason(int(faults[record]), int(counts[record])))
        rows = records.rows()
        columns = columns_of(self.columns, data, value_starts, value_stops, rows)
        return block_of(piece, records, rows, columns, first_line=first_line)

    def _reason(self, fault: int, num_fields: int) -> str:
        if fault == csvrows.WRONG_COUNT:
            return f"{num_fields} fields, the header has {len(self.column_of)}"
        if fault == csvrows.TEXT_AFTER_QUOTE:
            return "text after the closing quote of a field"
        return "a quoted field is never closed"
