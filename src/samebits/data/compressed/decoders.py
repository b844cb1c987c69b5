"""Compressed files as streams of bytes: gzip members and Zstandard frames, in small steps.

A stream may begin at any *place* that an earlier one told: the start of a member or frame, or, in gzip, the boundary between two
blocks of a member (with the 32 KiB of content before it). Whoever reads says from which byte of the content on the next
place is wanted, and is told of the first one there (``Landmarks``). Which place that is depends on the file alone, so two
readers that ask for the same are told the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.errors import InputError
from samebits.kernels.text.inflate import BOUNDARY, END, FAILED, Inflater

__all__ = [
    "MAX_RATIO",
    "NEVER",
    "BrokenStream",
    "Landmarks",
    "RestartPoint",
    "check_ratio",
    "content_from",
    "decompressed",
    "inflated",
    "is_bomb",
]

# Prose shrinks 3 to 10 times, logs up to about 100; gzip's own limit is 1,032 and zstd's 32,768. What fits into
# FREE_BYTES is let through whatever its ratio: it costs nobody anything.
MAX_RATIO = 200
FREE_BYTES = 256 << 20
# The most one step may give: a gzip step is bounded by this, a zstd step of 1 KiB by 32 MiB (its largest ratio).
GZIP_STEP_BYTES = 1 << 20
ZSTD_STEP_BYTES = 1 << 10
# The first step after a point is small: a shard that ends there only looks for the end of its last record.
FIRST_STEP_BYTES = 1 << 14
TRAILER_BYTES = 8
DATA_ERROR = -3  # zlib's number
_BETWEEN, _INSIDE, _TRAILER = range(3)
NEVER = 1 << 62
_ZEROS = re.compile(rb"\0*")


class BrokenStream(Exception):  # never leaves samebits.data
    """The compressed data end too early or are damaged; the message is the reason."""


class RestartPoint(NamedTuple):
    """Where reading may begin.

    Attributes:
        position: Bits of the file before it.
        content: Bytes of the content before it.
        member: Where in the content its gzip member began; inside one only.
        checksum: CRC-32 of the member's content before it.
        window: The content before it that what follows may refer to; None at the start of a member or frame.
    """

    position: int
    content: int
    member: int = 0
    checksum: int = 0
    window: bytes | None = None


START = RestartPoint(0, 0)


class Landmarks(Protocol):
    """Whoever wants to know of places.

    Attributes:
        wanted: From which byte of the content on the next one is wanted; ``NEVER`` for none.
        expected: From which bit of the file on the start of a member or frame is wanted whatever its content; ``NEVER`` for none.
        inside: Whether places inside gzip members are wanted, or starts of members.
    """

    wanted: int
    expected: int
    inside: bool

    def reached(self, place: RestartPoint) -> None:
        """Take a place; everything before it has been yielded. Must raise ``wanted`` and ``expected``."""
        ...


class _Nowhere:
    wanted = expected = NEVER
    inside = False

    def reached(self, place: RestartPoint) -> None:
        raise AssertionError("nobody asked")


def decompressed(file: VerifiedFile, compression: str) -> Iterator[bytes]:
    """Yield the content of a compressed file in order.

    Raises:
        BrokenStream: After everything before the damage was yielded.
        InputError: The content is more than ``MAX_RATIO`` times as large as the file.
    """
    return content_from(file, compression, START, _Nowhere())


def content_from(
    file: VerifiedFile, compression: str, place: RestartPoint, landmarks: Landmarks
) -> Iterator[bytes]:
    """Yield the content from a place to the end of the file; raises as ``decompressed`` does."""
    num_bytes = place.content
    stream: _Members | _Frames
    if compression == "gz":
        stream = _Members(place, landmarks)
    else:
        stream = _Frames(place, landmarks)
    # a block of gzip may begin in the last bits of a byte
    for data in stream.run(_blocks_from(file, place.position // 8)):
        num_bytes += len(data)
        check_ratio(num_bytes, file.size, file.origin)
        yield data


def inflated(data: bytes, compression: str, *, path: str) -> bytes:
    """Return the whole content of a small compressed file that is in memory already.

    Raises:
        InputError: It is damaged, ends too early, or grows out of all proportion.
    """
    stream = _Members(START, _Nowhere()) if compression == "gz" else _Frames(START, _Nowhere())
    pieces: list[bytes] = []
    num_bytes = 0
    try:
        for piece in stream.run(iter([data])):
            num_bytes += len(piece)
            check_ratio(num_bytes, len(data), path)
            pieces.append(piece)
    except BrokenStream as error:
        raise InputError(str(error), path=path) from None
    return b"".join(pieces)


def is_bomb(num_bytes: int, size: int) -> bool:
    """Tell whether so much content is out of all proportion to a file of this size."""
    return num_bytes > FREE_BYTES and num_bytes > MAX_RATIO * size


def check_ratio(num_bytes: int, size: int, path: str) -> None:
    """Refuse content out of all proportion to the file.

    Raises:
        InputError: It is more than ``MAX_RATIO`` times as large.
    """
    if is_bomb(num_bytes, size):
        raise InputError(
            f"expands to more than {MAX_RATIO} times its {size} bytes, like a file made to fill disks",
            path=path,
            hint="if the file is what you expect, decompress it yourself and give the result",
        )


def _blocks_from(file: VerifiedFile, position: int) -> Iterator[bytes]:
    for start in range(position // BLOCK_BYTES * BLOCK_BYTES, file.size, BLOCK_BYTES):
        block = file.read(start, start + BLOCK_BYTES)
        yield block[max(position - start, 0) :].tobytes()


class _Members:
    """Gzip members one after the other, and zero bytes between and after them, as gzip allows.

    Attributes:
        position: Bytes of the file before the current block of input.
        content: Bytes of the content so far.
        member: Where in the content the current member began.
        phase: ``_BETWEEN`` members, ``_INSIDE`` one, or in the ``_TRAILER`` of one that was entered in its middle; of others zlib
            checks it.
        trailer: What is here of that trailer.
    """

    def __init__(self, place: RestartPoint, landmarks: Landmarks) -> None:
        self.landmarks = landmarks
        self.place = place
        self.position = place.position // 8
        self.content = place.content
        self.member = place.member
        self.phase = _BETWEEN
        self.entered = False
        self.trailer = b""
        self.inflater = Inflater()
        self.room = memoryview(bytearray(GZIP_STEP_BYTES))
        self.step_bytes = FIRST_STEP_BYTES

    def run(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content."""
        first = next(blocks, b"")
        yield from self._take(first, self._enter(first))
        for block in blocks:
            yield from self._take(block, 0)
        if self.phase != _BETWEEN:
            raise BrokenStream("the gzip data end too early")

    def _enter(self, block: bytes) -> int:
        """Go to the place; return how much of the first block that takes."""
        if self.place.window is None:
            return 0
        spare_bits = -self.place.position % 8
        last_byte = block[0] if spare_bits and block else 0
        self.inflater.begin_inside(spare_bits, last_byte, self.place.window, self.place.checksum)
        self.phase, self.entered = _INSIDE, True
        return min(spare_bits, 1)

    def _take(self, block: bytes, at: int) -> Iterator[bytes]:
        inflater = self.inflater
        pending = False  # zlib may still hold what had no room
        while at < len(block) or pending:
            if self.phase != _INSIDE:
                at = self._begin(block, at) if self.phase == _BETWEEN else self._check(block, at)
                pending = False
                continue
            wanted = self.landmarks.wanted - self.content if self.landmarks.inside else NEVER
            room = self.room[: self.step_bytes]
            event = inflater.step(block, at, room, wanted)
            at += inflater.used
            self.content += inflater.made
            self.step_bytes = FIRST_STEP_BYTES if event == BOUNDARY else GZIP_STEP_BYTES
            if inflater.made:
                yield bytes(room[: inflater.made])
            pending = event == BOUNDARY or inflater.made == len(room)
            if event == BOUNDARY:
                self._tell((self.position + at) * 8 - inflater.spare_bits)
            elif event == END:
                self.phase = _TRAILER if self.entered else _BETWEEN
            elif event == FAILED:
                raise _damaged(inflater.status, inflater.reason)
        self.position += len(block)

    def _tell(self, position: int) -> None:
        inflater = self.inflater
        place = RestartPoint(position, self.content, self.member, inflater.checksum, inflater.window())
        self.landmarks.reached(place)

    def _begin(self, block: bytes, at: int) -> int:
        """Skip padding; return where the next member begins."""
        zeros = _ZEROS.match(block, at)
        at = zeros.end() if zeros else at
        if at < len(block):
            _tell_start(self.landmarks, self.position + at, self.content)
            self.inflater.begin_member()
            self.phase, self.entered = _INSIDE, False
            self.member = self.content
        return at

    def _check(self, block: bytes, at: int) -> int:
        """Compare checksum and length of a member with its trailer, each when it is here, as zlib does where it has seen all."""
        stop = at + TRAILER_BYTES - len(self.trailer)
        self.trailer += block[at:stop]
        checksum, length = (self.trailer[start : start + 4] for start in (0, 4))
        if len(checksum) == 4 and int.from_bytes(checksum, "little") != self.inflater.checksum:
            raise _damaged(DATA_ERROR, "incorrect data check")
        if len(length) == 4:
            if int.from_bytes(length, "little") != (self.content - self.member) % (1 << 32):
                raise _damaged(DATA_ERROR, "incorrect length check")
            self.phase, self.trailer = _BETWEEN, b""
        return min(stop, len(block))


def _tell_start(landmarks: Landmarks, position: int, content: int) -> None:
    """Tell of the start of a member or frame, if it is wanted."""
    if not landmarks.inside and (content >= landmarks.wanted or 8 * position >= landmarks.expected):
        landmarks.reached(RestartPoint(8 * position, content))


def _damaged(status: int, reason: str) -> BrokenStream:
    return BrokenStream(f"damaged gzip data: Error {status} while decompressing data: {reason}")


class _Frames:
    """Zstandard frames one after the other.

    Attributes:
        position: Bytes of the file before the current step of input.
        content: Bytes of the content so far.
    """

    def __init__(self, place: RestartPoint, landmarks: Landmarks) -> None:
        import zstandard  # only needed for .zst files

        self.landmarks = landmarks
        self.position = place.position // 8
        self.content = place.content
        self.error = zstandard.ZstdError
        self.decompressor = zstandard.ZstdDecompressor()
        self.inflater = self.decompressor.decompressobj()
        self.inside = False

    def run(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content.

        Steps lie on a grid of the file, wherever the stream began: what a step with damage gave is lost, and that must not depend on it.
        """
        for block in blocks:
            for at in range(-(self.position % ZSTD_STEP_BYTES), len(block), ZSTD_STEP_BYTES):
                yield from self._take(block[max(at, 0) : at + ZSTD_STEP_BYTES])
        if self.inside:
            raise BrokenStream("the zstd data end too early")

    def _take(self, step: bytes) -> Iterator[bytes]:
        rest = step
        while rest:
            if not self.inside:
                self._begin(self.position + len(step) - len(rest))
            try:
                data = self.inflater.decompress(rest)
            except self.error as error:
                raise BrokenStream(f"damaged zstd data: {error}") from error
            self.content += len(data)
            if data:
                yield data
            self.inside = not self.inflater.eof
            rest = self.inflater.unused_data if self.inflater.eof else b""
        self.position += len(step)

    def _begin(self, position: int) -> None:
        _tell_start(self.landmarks, position, self.content)
        self.inflater = self.decompressor.decompressobj()
