"""An index of restart points for files that do not say where they may be entered: one pass over the content, kept in the cache.

A plain ``.gz`` is one member, and only its blocks, with the 32 KiB before each, can be entered. Zstandard frames of unknown
content and compressed CSV (is this byte inside quotes?) need the pass as well, and no windows.

The file is called after the digest of the input, so it cannot be that of another; it is sealed, so one that is damaged or of
another version is made again; and readers check every point they pass, so a forged one is found out (``reading``).

Layout: windows, each compressed for itself; the table of points; a header in JSON; a footer that seals table and header.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
import xxhash

from samebits.data.compressed import points
from samebits.data.compressed.decoders import NEVER, BrokenStream, RestartPoint, content_from
from samebits.data.compressed.points import POINT, RestartPoints, digest_of_window, is_in_order, point_of
from samebits.data.compressed.telling import told
from samebits.data.inputs.blocks import VerifiedFile
from samebits.data.inputs.cache import new_file
from samebits.data.readers.pieces import BOM, bom_length
from samebits.kernels.text import csvrows

__all__ = ["IndexOf", "load_index", "make_index", "read_window"]

VERSION = 1
MAGIC = b"restarts"
FOOTER = struct.Struct("<8sIQ16s")  # magic, bytes of the header, bytes of the table, digest of both
MOST_WINDOW = 1 << 15
START = RestartPoint(0, 0)


class IndexOf(msgspec.Struct, frozen=True):
    """What an index is of; one of anything else is made again.

    Attributes:
        source: Digest of the file.
        size: Bytes of the file.
        compression: ``"gz"`` or ``"zst"``.
        delimiter: Of CSV records, 0 for lines.
    """

    source: str
    size: int
    compression: str
    delimiter: int
    spacing: int = msgspec.field(default_factory=lambda: points.SPACING)
    version: int = msgspec.field(default_factory=lambda: VERSION)

    def path(self, folder: Path) -> Path:
        """Return where it is kept."""
        return folder / f"{self.source}.{self.compression}{self.delimiter or ''}"


class _Sealed(msgspec.Struct, frozen=True):
    """The header, and how much content there is."""

    of: IndexOf
    end: int


def read_window(found: RestartPoints, number: int) -> bytes | None:
    """Return the window of a point, None if it needs none.

    Raises:
        OSError: The index is not there any more.
        ValueError: It is not what it was.
    """
    import zstandard

    row = found.table[number]
    if row["window"] < 0:
        return None
    with Path(found.index).open("rb") as file:
        file.seek(int(row["window"]))
        packed = file.read(int(row["window_bytes"]))
    try:
        window = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MOST_WINDOW)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if digest_of_window(window) != row["digest"].tobytes():
        raise ValueError("a window has another digest")
    return window


def load_index(folder: Path, header: IndexOf) -> RestartPoints | None:
    """Return the index from the folder of indexes, None if there is none or it is not what it should be."""
    path = header.path(folder)
    try:
        with path.open("rb") as file:
            size = file.seek(-FOOTER.size, os.SEEK_END)
            magic, header_bytes, table_bytes, digest = FOOTER.unpack(file.read())
            if magic != MAGIC or header_bytes + table_bytes > size:
                return None
            file.seek(size - header_bytes - table_bytes)
            sealed = file.read(header_bytes + table_bytes)
        if xxhash.xxh3_128_digest(sealed) != digest:
            return None
        told = msgspec.json.decode(sealed[table_bytes:], type=_Sealed)
        table = np.frombuffer(sealed[:table_bytes], POINT)
    except (OSError, ValueError, struct.error):  # msgspec's errors are ValueErrors
        return None
    if told.of != header or not is_in_order(table, told.end, header.size):
        return None
    return RestartPoints(table, told.end, str(path))


def make_index(file: VerifiedFile, folder: Path, header: IndexOf) -> RestartPoints:
    """Read a file once and keep its index in the folder of indexes.

    Raises:
        InputError: The file grows out of all proportion, or has changed.
    """
    path = header.path(folder)
    with new_file(path.parent, origin=file.origin) as unfinished:
        with unfinished.open("wb") as out:
            maker = _Maker(out, header)
            maker.run(file)
            table = np.array(maker.rows, POINT)
            table = table[: max(1, int(np.searchsorted(table["content"], maker.end)))]  # no point at the end
            body = table.tobytes() + msgspec.json.encode(_Sealed(header, maker.end))
            out.write(body)
            digest = xxhash.xxh3_128_digest(body)
            out.write(FOOTER.pack(MAGIC, len(body) - table.nbytes, table.nbytes, digest))
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(path)
    return RestartPoints(table, maker.end, str(path))


class _Maker:
    """Notes points while a file is read from its start.

    Attributes:
        wanted: Where in the content the next point should be.
        rows: The points so far.
        end: Bytes of content so far.
    """

    def __init__(self, out: IO[bytes], header: IndexOf) -> None:
        import zstandard

        self.out = out
        self.header = header
        self.wanted = header.spacing
        self.expected = NEVER
        self.inside = header.compression == "gz"
        self.rows: list[tuple[object, ...]] = [point_of(START)]
        self.end = self.written = self.state = 0
        self.head = b""
        self.packer = zstandard.ZstdCompressor(level=1)

    def run(self, file: VerifiedFile) -> None:
        """Read the file, as far as it is whole."""
        with suppress(BrokenStream):
            content = content_from(file, self.header.compression, START, self)
            for data in told(content, f"indexing {file.origin}"):
                if self.header.delimiter:
                    self._scan(data)
                self.end += len(data)

    def _scan(self, data: bytes) -> None:
        """Walk the automaton of CSV records, from after the byte order mark on."""
        start = 0
        if self.end < len(BOM):
            self.head += data
            if len(self.head) < len(BOM):
                return
            data, self.head = self.head, b""
            start = bom_length(np.frombuffer(data[: len(BOM)], np.uint8))
        self.state, _, _ = csvrows.scan_records(data, start, len(data), self.state, self.header.delimiter)

    def reached(self, place: RestartPoint) -> None:
        """Keep a place and its window."""
        self.wanted = place.content + self.header.spacing
        at, packed = -1, b""
        if place.window is not None:
            at, packed = self.written, self.packer.compress(place.window)
            self.out.write(packed)
            self.written += len(packed)
        self.rows.append(point_of(place, window=at, window_bytes=len(packed), state=self.state))
