"""Restart points that a file itself tells, found without decompressing it: Zstandard frames, and gzip members that say their size.

Frames are a chain: header, blocks with their sizes, perhaps a checksum. Most writers put the size of the content into the
header; those of the seekable format may put it into a table at the end instead. ``bgzip`` writes members of at most 64 KiB of
content, with the size of each in a field ``BC`` of its header. Other gzip members cannot be found without inflating them.

A chain ends before sizes that cannot be: what follows is read as a stream, and whoever does so says what is wrong with it.

What is read here has not been checked against the digests of the input: it only says where to cut. Readers check every point
they pass, in bytes that have been checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from samebits.data.compressed import points
from samebits.data.compressed.decoders import RestartPoint, is_bomb
from samebits.data.compressed.points import POINT, RestartPoints, point_of

__all__ = ["Frames", "find_frames", "find_members", "thinned"]

READ_BYTES = 1 << 16
FRAME_MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC = 0x184D2A50  # and the fifteen after it
SEEK_TABLE_MAGIC = 0x184D2A5E
SEEKABLE_MAGIC = 0x8F92EAB1
SEEK_FOOTER = struct.Struct("<IBI")  # number of frames, flags, magic
MOST_FRAME_HEADER = 18
CHECKSUM_BYTES = 4
UNKNOWN = -1
BGZF_HEADER = struct.Struct("<4BI2BH2sHH")
BGZF_START = (0x1F, 0x8B, 8, 4)
BGZF_TRAILER_BYTES = 8
MOST_BGZF_CONTENT = 1 << 16


class Frames(NamedTuple):
    """What a file is made of, in order, skippable frames included; what follows the last of them is no frame, or half of one.

    Attributes:
        starts: Bytes of the file before each, and before what follows.
        contents: Bytes of content in each; ``UNKNOWN`` if it does not say.
    """

    starts: list[int]
    contents: list[int]

    @property
    def largest(self) -> int:
        """Bytes of the largest frame."""
        return max(np.diff(self.starts).tolist(), default=0)

    @property
    def is_known(self) -> bool:
        """Whether all frames say how much they hold."""
        return UNKNOWN not in self.contents


def thinned(frames: Frames, size: int) -> RestartPoints:
    """Return points at least ``SPACING`` apart; the frames must be known.

    >>> thinned(Frames([0, 50, 90], [5 << 20, 1 << 20]), 100).table["content"].tolist()
    [0, 5242880]
    """
    rows = [point_of(RestartPoint(0, 0))]
    content, wanted = 0, points.SPACING
    for start, length in zip(frames.starts, frames.contents, strict=False):
        if content >= wanted:
            rows.append(point_of(RestartPoint(8 * start, content)))
            wanted = content + points.SPACING
        content += length
    # what follows the frames is read with the last of them; so many bytes are a guess
    return RestartPoints(np.array(rows, POINT), content + size - frames.starts[-1])


class _Bytes:
    """A file read at places that go forward, through one buffer."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("rb", buffering=0)  # noqa: SIM115  # closed by whoever made it
        self.buffer = b""
        self.start = 0

    def at(self, start: int, num_bytes: int) -> bytes:
        """Return some bytes, fewer at the end of the file."""
        offset = start - self.start
        if offset < 0 or offset + num_bytes > len(self.buffer):
            self.file.seek(start)
            self.buffer, self.start, offset = self.file.read(max(READ_BYTES, num_bytes)) or b"", start, 0
        return self.buffer[offset : offset + num_bytes]


def find_frames(path: str, size: int) -> Frames:
    """Walk the chain of Zstandard frames, as far as it goes."""
    source = _Bytes(path)
    with source.file:
        frames, content = Frames([0], []), 0
        while frames.starts[-1] < size:
            found = _frame_at(source, frames.starts[-1], size)
            if found is None or is_bomb(content := content + max(found[1], 0), size):
                break
            frames.starts.append(found[0])
            frames.contents.append(found[1])
        return frames if frames.is_known else _with_seek_table(source, frames, size)


def _frame_at(source: _Bytes, start: int, size: int) -> tuple[int, int] | None:
    """Return where a frame stops and how much it holds; None where there is no whole frame."""
    import zstandard

    head = source.at(start, MOST_FRAME_HEADER)
    if len(head) < 8:
        return None
    magic, length = struct.unpack_from("<II", head)
    if magic & ~15 == SKIPPABLE_MAGIC:
        return (start + 8 + length, 0) if start + 8 + length <= size else None
    if magic != FRAME_MAGIC:
        return None
    try:
        told = zstandard.get_frame_parameters(head)
        at = start + zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        return None
    is_last = False
    while not is_last:
        header = source.at(at, 3)
        if len(header) < 3:
            return None
        word = int.from_bytes(header, "little")
        is_last, kind, length = bool(word & 1), word >> 1 & 3, word >> 3
        at += 3 + (1 if kind == 1 else length)  # a block of one repeated byte holds that byte
    at += CHECKSUM_BYTES * told.has_checksum
    content = told.content_size
    return (at, content if content < 1 << 62 else UNKNOWN) if at <= size else None


def _with_seek_table(source: _Bytes, frames: Frames, size: int) -> Frames:
    """Fill in unknown contents from the table of the seekable format, if there is one and it names the frames that are there."""
    if size < SEEK_FOOTER.size or frames.starts[-1] != size:
        return frames
    number, flags, magic = SEEK_FOOTER.unpack(source.at(size - SEEK_FOOTER.size, SEEK_FOOTER.size))
    entry = 12 if flags & 0x80 else 8
    table_bytes = number * entry + SEEK_FOOTER.size
    last = len(frames.contents) - 1
    is_table = magic == SEEKABLE_MAGIC and number == last
    if not is_table or frames.starts[-1] - frames.starts[-2] != 8 + table_bytes:
        return frames
    table = np.frombuffer(source.at(size - table_bytes, number * entry), "<u4").reshape(number, -1)
    if table[:, 0].tolist() != np.diff(frames.starts)[:last].tolist():
        return frames
    told = [
        int(length) if known == UNKNOWN else known
        for known, length in zip(frames.contents, table[:, 1], strict=False)
    ]
    return Frames(frames.starts, [*told, 0])


def find_members(path: str, size: int) -> Frames:
    """Walk the chain of gzip members that say their size, as far as it goes."""
    source = _Bytes(path)
    with source.file:
        members, content = Frames([0], []), 0
        for stop in _members(source, size):
            length = int.from_bytes(source.at(stop - 4, 4), "little")
            if length > MOST_BGZF_CONTENT or is_bomb(content := content + length, size):
                break
            members.starts.append(stop)
            members.contents.append(length)
        return members


def _members(source: _Bytes, size: int) -> Iterator[int]:
    start = 0
    while len(head := source.at(start, BGZF_HEADER.size)) == BGZF_HEADER.size:
        fields = BGZF_HEADER.unpack(head)
        extra_bytes, name, field_bytes, last_byte = fields[7:]
        stop = start + last_byte + 1
        told = fields[:4] == BGZF_START and (extra_bytes, name, field_bytes) == (6, b"BC", 2)
        if not told or stop > size or stop - start < BGZF_HEADER.size + BGZF_TRAILER_BYTES:
            return
        yield stop
        start = stop
