"""Compressed files: decompressed in small steps, cut into pieces of whole records, in bounded memory.

A file that ends too early or is damaged gives the records before the damage and one fault. A file that grows out of
all proportion (a "zip bomb") is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.data.readers.pieces import BOM, Fault, Framing, Piece, bom_length, too_long
from samebits.errors import InputError

__all__ = ["MAX_RATIO", "BrokenStream", "decompressed", "inflated", "stream_pieces"]

# Prose shrinks 3 to 10 times, logs up to about 100; gzip's own limit is 1,032 and zstd's 32,768. What fits into
# FREE_BYTES is let through whatever its ratio: it costs nobody anything.
MAX_RATIO = 200
FREE_BYTES = 256 << 20
# The most one step may give: a gzip step is bounded by this, a zstd step of 1 KiB by 32 MiB (its largest ratio).
GZIP_STEP_BYTES = 1 << 20
ZSTD_STEP_BYTES = 1 << 10


class BrokenStream(Exception):  # never leaves samebits.data
    """The compressed data end too early or are damaged; the message is the reason."""


def decompressed(file: VerifiedFile, compression: str) -> Iterator[bytes]:
    """Yield the content of a compressed file in order.

    Raises:
        BrokenStream: After everything before the damage was yielded.
        InputError: The content is more than ``MAX_RATIO`` times as large as the file.
    """
    steps = _gunzip if compression == "gz" else _unzstd
    num_bytes = 0
    for data in steps(_blocks(file)):
        num_bytes += len(data)
        _check_ratio(num_bytes, file.size, file.origin)
        yield data


def inflated(data: bytes, compression: str, *, path: str) -> bytes:
    """Return the whole content of a small compressed file that is in memory already.

    Raises:
        InputError: It is damaged, ends too early, or grows out of all proportion.
    """
    steps = _gunzip if compression == "gz" else _unzstd
    pieces: list[bytes] = []
    num_bytes = 0
    try:
        for piece in steps(iter([data])):
            num_bytes += len(piece)
            _check_ratio(num_bytes, len(data), path)
            pieces.append(piece)
    except BrokenStream as error:
        raise InputError(str(error), path=path) from None
    return b"".join(pieces)


def _check_ratio(num_bytes: int, size: int, path: str) -> None:
    if num_bytes > FREE_BYTES and num_bytes > MAX_RATIO * size:
        raise InputError(
            f"expands to more than {MAX_RATIO} times its {size} bytes, like a file made to fill disks",
            path=path,
            hint="if the file is what you expect, decompress it yourself and give the result",
        )


def _blocks(file: VerifiedFile) -> Iterator[bytes]:
    for start in range(0, file.size, BLOCK_BYTES):
        yield file.read(start, start + BLOCK_BYTES).tobytes()


def _gunzip(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Members one after the other, and zero bytes after the last, as gzip allows."""
    inflater = zlib.decompressobj(31)
    inside = False
    for block in blocks:
        rest = block
        while rest:
            if not inside:
                rest = rest.lstrip(b"\0")
                inside = bool(rest)
                inflater = zlib.decompressobj(31)
            before = inflater.copy()
            try:
                data = inflater.decompress(rest, GZIP_STEP_BYTES)
            except zlib.error as error:
                yield from _salvage(before, rest)
                raise BrokenStream(f"damaged gzip data: {error}") from error
            yield data
            inside = inside and not inflater.eof
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if inside:
        try:
            yield inflater.flush()
        except zlib.error as error:
            raise BrokenStream(f"damaged gzip data: {error}") from error
        if not inflater.eof:
            raise BrokenStream("the gzip data end too early")


def _salvage(inflater: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield what comes before the damage, byte by byte: zlib throws away what a failing step had given."""
    try:
        for at in range(len(data)):
            yield inflater.decompress(data[at : at + 1])
    except zlib.error:
        return


def _unzstd(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Frames one after the other."""
    import zstandard  # only needed for .zst files

    decompressor = zstandard.ZstdDecompressor()
    inflater = decompressor.decompressobj()
    inside = False
    for block in blocks:
        for at in range(0, len(block), ZSTD_STEP_BYTES):
            rest = block[at : at + ZSTD_STEP_BYTES]
            while rest:
                if not inside:
                    inflater = decompressor.decompressobj()
                try:
                    data = inflater.decompress(rest)
                except zstandard.ZstdError as error:
                    raise BrokenStream(f"damaged zstd data: {error}") from error
                yield data
                inside = not inflater.eof
                rest = inflater.unused_data if inflater.eof else b""
    if inside:
        raise BrokenStream("the zstd data end too early")


def stream_pieces(
    chunks: Iterator[bytes], *, framing: Framing, stream_bytes: int, max_line_bytes: int
) -> Iterator[Piece]:
    """Cut a stream into pieces of about ``stream_bytes`` that hold whole records.

    Never more than one piece and one record of ``max_line_bytes`` are in memory.
    """
    return _Cutter(framing, stream_bytes, max_line_bytes).run(chunks)


class _Cutter:
    """The state of one cut.

    Attributes:
        buffer: ``buffer[:filled]`` is what was not yielded yet; it starts with a record, or inside one being skipped.
        base: Offset of ``buffer[0]`` in the content.
        scanned: How far the framing has looked, with ``state`` the state there.
        skipping: A record that is too long is being skipped.
    """

    def __init__(self, framing: Framing, stream_bytes: int, max_line_bytes: int) -> None:
        self.framing = framing
        self.stream_bytes = stream_bytes
        self.max_line_bytes = max_line_bytes
        self.buffer = self._new_buffer(0)
        self.base = self.filled = self.scanned = 0
        self.state = framing.state_at(0)
        self.skipping = False

    def _new_buffer(self, num_bytes: int) -> NDArray[np.uint8]:
        """Room for one piece and the step that completes it, so that it seldom has to grow."""
        return np.empty(max(self.stream_bytes, num_bytes) + GZIP_STEP_BYTES, dtype=np.uint8)

    def run(self, chunks: Iterator[bytes]) -> Iterator[Piece]:
        fault: str | None = None
        try:
            for chunk in chunks:
                self._append(chunk)
                if self.filled >= max(self.stream_bytes, len(BOM)):
                    yield from self._cut()
        except BrokenStream as broken:
            fault = str(broken)
        yield from self._cut()
        yield from self._end(fault)

    def _append(self, chunk: bytes) -> None:
        need = self.filled + len(chunk)
        if need > len(self.buffer):
            grown = np.empty(max(need, len(self.buffer) * 3 // 2), dtype=np.uint8)
            grown[: self.filled] = self.buffer[: self.filled]
            self.buffer = grown
        self.buffer[self.filled : need] = np.frombuffer(chunk, dtype=np.uint8)
        self.filled = need

    def _cut(self) -> Iterator[Piece]:
        """Look at what is new; yield the complete records, keep the rest."""
        start = self._start()
        self.state, first, last = self.framing.scan(
            self.buffer, max(self.scanned, start), self.filled, self.state
        )
        self.scanned = self.filled
        if last is None:
            yield from self._give_up_on_long()
            return
        if self.skipping:
            assert first is not None
            self.skipping = False
            start = first
        if start < last:
            yield Piece(self.buffer, start, last, self.base)
        self._drop(last)

    def _start(self) -> int:
        return bom_length(self.buffer[: self.filled]) if self.base == 0 else 0

    def _give_up_on_long(self) -> Iterator[Piece]:
        """No record ends in the buffer: skip it if it is too long (a CR may still end it), else wait for more."""
        if self.skipping:
            self._drop(self.filled)
        elif self.filled - self._start() > self.max_line_bytes + 1:
            fault = too_long(self.base + self._start(), self.max_line_bytes)
            yield Piece(self.buffer[:0], 0, 0, self.base, fault)
            self.skipping = True
            self._drop(self.filled)

    def _drop(self, num_bytes: int) -> None:
        """Go on with a new buffer: the old one belongs to whoever took the piece."""
        rest = self.buffer[num_bytes : self.filled]
        self.buffer = self._new_buffer(len(rest))
        self.buffer[: len(rest)] = rest
        self.base += num_bytes
        self.filled = self.scanned = len(rest)

    def _end(self, fault: str | None) -> Iterator[Piece]:
        """Yield what is left: a last record without newline, or the fault that took its place."""
        start = self._start()
        if fault is not None:
            yield Piece(self.buffer[:0], 0, 0, self.base, Fault(self.base + start, fault))
        elif self.filled > start and not self.skipping:
            yield Piece(self.buffer, start, self.filled, self.base)
