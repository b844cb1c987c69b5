"""Decompressed content cut into pieces of whole records, in bounded memory.

A shard owns the records that begin after its first byte: it skips to the first end of a record and reads on to the first one
from its stop on. Nobody has to know the byte before the shard, which may be in another frame. A file that ends too early or is
damaged gives the records before the damage and one fault; where the file tells where its next part begins, reading
goes on there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.data.compressed.decoders import GZIP_STEP_BYTES, NEVER, BrokenStream, decompressed
from samebits.data.inputs.blocks import VerifiedFile
from samebits.data.readers.pieces import BOM, Fault, Framing, Piece, bom_length, too_long

__all__ = ["NEVER", "ContentStream", "WholeStream", "stream_pieces"]


class ContentStream(Protocol):
    """Content from some byte on.

    Attributes:
        content: Where in the content it begins, or goes on.
    """

    content: int

    def chunks(self) -> Iterator[bytes]:
        """Yield the content; BrokenStream after everything before damage."""
        ...

    def resume(self) -> bool:
        """Tell whether there is more after the damage; ``content`` and ``chunks`` are then those of the rest."""
        ...

    def arrived(self, content: int, state: int) -> None:
        """Be told the state of the framing at the stop of the shard, where the next one begins."""
        ...


class WholeStream:
    """A compressed file from its start, as far as it is whole."""

    content = 0

    def __init__(self, file: VerifiedFile, compression: str) -> None:
        self._file = file
        self._compression = compression

    def chunks(self) -> Iterator[bytes]:
        """Yield the content."""
        return decompressed(self._file, self._compression)

    def resume(self) -> bool:
        """Nothing is known of what follows the damage."""
        return False

    def arrived(self, content: int, state: int) -> None:
        """There is no next shard."""


def stream_pieces(
    stream: ContentStream,
    *,
    framing: Framing,
    stream_bytes: int,
    max_line_bytes: int,
    state: int = 0,
    stop: int = NEVER,
) -> Iterator[Piece]:
    """Cut a stream into pieces of about ``stream_bytes`` that hold whole records.

    Never more than one piece and one record of ``max_line_bytes`` are in memory.

    Args:
        stream: Where the content comes from.
        framing: Where records end.
        stream_bytes: Size of a piece.
        max_line_bytes: A longer record is a fault.
        state: Of the framing where the stream begins.
        stop: Byte of the content from which on the first end of a record is the last; ``NEVER`` reads to the end.
    """
    return _Cutter(stream, framing, stream_bytes, max_line_bytes, stop).run(state)


class _Cutter:
    """The state of one cut.

    Attributes:
        buffer: ``buffer[:filled]`` is what was not yielded yet; it starts with a record, or inside one being skipped.
        base: Offset of ``buffer[0]`` in the content.
        scanned: How far the framing has looked, with ``state`` the state there.
        skipping: A record that is too long, or whose start is not here, is being skipped.
        foreign: It is one whose start is not here: whoever has its start reports what is wrong with it.
        done: The last record of the shard has been yielded.
    """

    def __init__(
        self, stream: ContentStream, framing: Framing, stream_bytes: int, max_line_bytes: int, stop: int
    ) -> None:
        self.stream = stream
        self.framing = framing
        self.stream_bytes = stream_bytes
        self.max_line_bytes = max_line_bytes
        self.stop = stop
        self.done = False
        self._enter(0, 0)

    def _enter(self, content: int, state: int) -> None:
        self.buffer = self._new_buffer(0)
        self.base = content
        self.filled = self.scanned = 0
        self.state = state
        self.skipping = self.foreign = content > 0

    def _new_buffer(self, num_bytes: int) -> NDArray[np.uint8]:
        """Room for one piece and the step that completes it, so that it seldom has to grow."""
        return np.empty(max(self.stream_bytes, num_bytes) + GZIP_STEP_BYTES, dtype=np.uint8)

    def run(self, state: int) -> Iterator[Piece]:
        stream = self.stream
        self._enter(stream.content, state)
        fault = yield from self._read()
        while fault is not None and stream.resume() and stream.content < self.stop:
            self._enter(stream.content, 0)
            fault = yield from self._read()

    def _read(self) -> Generator[Piece, None, str | None]:
        """Read until the shard or the stream ends; return what broke it."""
        fault: str | None = None
        # a byte order mark is looked at as a whole
        enough, stop = max(self.stream_bytes, len(BOM)), max(self.stop, len(BOM) - 1)
        try:
            for chunk in self.stream.chunks():
                self._append(chunk)
                if self.filled >= enough or self.base + self.filled > stop:
                    yield from self._cut()
                    if self.done:
                        return None
        except BrokenStream as broken:
            fault = str(broken)
        yield from self._cut()
        if not self.done:
            yield from self._end(fault)
        return fault

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
        begin = max(self.scanned, start)
        border = max(begin, min(self.stop - self.base, self.filled))
        self.state, first, last = self.framing.scan(self.buffer, begin, border, self.state)
        if border < self.filled:
            if self.base + border == self.stop:
                self.stream.arrived(self.stop, self.state)
            self.state, end, _ = self.framing.scan(self.buffer, border, self.filled, self.state)
            if end is not None:
                first, last, self.done = first or end, end, True
        self.scanned = self.filled
        if last is None:
            yield from self._give_up_on_long()
            return
        if self.skipping:
            assert first is not None
            self.skipping = self.foreign = False
            start = first
        if start < last:
            yield Piece(self.buffer, start, last, self.base)
        self._drop(last)

    def _start(self) -> int:
        return bom_length(self.buffer[: self.filled]) if self.base == 0 else 0

    def _give_up_on_long(self) -> Iterator[Piece]:
        """No record ends in the buffer: skip it if it is too long (a CR may still end it), else wait for more."""
        if self.skipping:
            # the end of a record of our own is waited for: damage before it is ours as well
            self.done = self.foreign and self.base + self.filled > self.stop
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
        if self.foreign:
            return
        if fault is not None:
            yield Piece(self.buffer[:0], 0, 0, self.base, Fault(self.base + start, fault))
        elif self.filled > start and not self.skipping:
            yield Piece(self.buffer, start, self.filled, self.base)
