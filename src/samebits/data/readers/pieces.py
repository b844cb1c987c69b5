"""Whole records of one shard, with nothing looked at but where records end.

A ``Piece`` is a buffer with complete records and the offset in the file it came from. A shard of a plain file is
one piece (``read_cell``); a compressed file is a stream of pieces (``samebits.data.readers.streams``). Neither keeps more
than the cell and one record in memory, and neither keeps a record longer than ``max_line_bytes``.

Two framings exist: lines, and CSV records, where a quoted field may hold newlines.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.kernels.text import lines

__all__ = ["BOM", "Fault", "Framing", "LineFraming", "Piece", "Scan", "bom_length", "read_cell", "too_long"]

BOM = b"\xef\xbb\xbf"


class Fault(NamedTuple):
    """A record that could not be kept: where it starts in the file, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Complete records ``buffer[start:stop]``; ``buffer[0]`` is byte ``base`` of the (decompressed) file.

    Attributes:
        fault: A record after the others that could not be read.
    """

    buffer: NDArray[np.uint8]
    start: int
    stop: int
    base: int
    fault: Fault | None = None


class Scan(NamedTuple):
    """What a framing saw in a range: its state at the end, and the first and last start of a new record.

    A start counts if the newline before it is in the range, so it may be the range's own stop.
    """

    state: int
    first: int | None
    last: int | None


class Framing(Protocol):
    """Where records end."""

    def scan(self, data: NDArray[np.uint8], start: int, stop: int, state: int) -> Scan:
        """Go over ``data[start:stop]`` from a known state; an empty or reversed range changes nothing."""
        ...

    def state_at(self, block: int) -> int:
        """Return the state at the first byte of a block of the file."""
        ...


class LineFraming:
    """A record is a line; there is one state only."""

    def scan(self, data: NDArray[np.uint8], start: int, stop: int, state: int) -> Scan:
        """Find the first and the last newline."""
        first = lines.find_newline(data, start, stop)
        if first >= stop:
            return Scan(state, None, None)
        return Scan(state, first + 1, lines.line_start(data, start, stop))

    def state_at(self, block: int) -> int:
        """Lines have no state."""
        return 0


def bom_length(data: NDArray[np.uint8]) -> int:
    """Return 3 if a file starts with the UTF-8 byte order mark, else 0."""
    return len(BOM) if data[: len(BOM)].tobytes() == BOM else 0


def too_long(offset: int, max_line_bytes: int) -> Fault:
    """Return the fault of a record that is longer than allowed."""
    return Fault(offset, f"longer than {max_line_bytes} bytes")


def read_cell(file: VerifiedFile, start: int, stop: int, *, framing: Framing, max_line_bytes: int) -> Piece:
    """Read the records whose first byte lies in ``[start, stop)``, the last one to its end.

    A record starts at byte 0 and after each record's newline, so the newlines at ``start - 1 .. stop - 2`` tell what
    the cell owns. Reading goes on past ``stop`` until the last record ends or is too long to keep.
    """
    base = max(start - 1, 0) // BLOCK_BYTES * BLOCK_BYTES
    # the last record nearly always ends in the block after the cell
    data = file.read(base, stop + BLOCK_BYTES)
    state = framing.state_at(base // BLOCK_BYTES)
    begin = bom_length(data) if base == 0 else 0
    if start == 0:
        state, _, last = framing.scan(data, begin, stop - 1, state)
    else:
        before = max(start - 1 - base, begin)
        state, _, _ = framing.scan(data, begin, before, state)
        state, first, last = framing.scan(data, before, stop - 1 - base, state)
        if first is None:
            return Piece(data[:0], 0, 0, base)
        begin = first
    return _finish(
        file, Piece(data, begin, stop - 1 - base, base), last or begin, state, framing, max_line_bytes
    )


def _finish(
    file: VerifiedFile, piece: Piece, last: int, state: int, framing: Framing, max_line_bytes: int
) -> Piece:
    """Find the end of the last record, which starts at ``last``; ``piece.stop`` is where to go on looking."""
    data, begin, base = piece.buffer, piece.start, piece.base
    at = max(piece.stop, begin)
    while True:
        state, first, _ = framing.scan(data, at, len(data), state)
        if first is not None:
            return Piece(data, begin, first, base)
        at = len(data)
        if base + at == file.size:
            return Piece(data, begin, at, base)
        # One byte for the CR that may end the record; without a newline here the text alone is too long.
        if at - last > max_line_bytes + 1:
            return Piece(data, begin, last, base, too_long(base + last, max_line_bytes))
        # Growing by half keeps the copying linear in the length of the record.
        more = file.read(base + at, base + at + max(BLOCK_BYTES, (at - last) // 2))
        data = np.concatenate((data, more))
