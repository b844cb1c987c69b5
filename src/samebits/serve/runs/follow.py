"""Read a file that another process appends to: whole lines, in pieces, from where the last look ended."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Follower"]

PIECE_BYTES = 1 << 20
MOST_LINE = 1 << 20  # a line without an end is dropped piece by piece, not collected


class Follower:
    """Follows one path, also when its file is replaced by another or cut.

    Attributes:
        restarted: Whether the file was found to be another one; what was read before does not belong to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.restarted = False
        self._file = -1  # inode: a rename keeps it, a new run has another
        self._offset = 0
        self._rest = b""

    def read(self, most: int) -> Iterator[bytes]:
        """Yield pieces of whole lines, at most about ``most`` bytes; none when nothing came."""
        self.restarted = False
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return
            if about.st_ino != self._file or about.st_size < self._offset:
                self.restarted = self._file != -1
                self._file, self._offset, self._rest = about.st_ino, 0, b""
            yield from self._pieces(descriptor, self._offset + most)
        finally:
            os.close(descriptor)

    def _pieces(self, descriptor: int, until: int) -> Iterator[bytes]:
        while self._offset < until:
            data = os.pread(descriptor, PIECE_BYTES, self._offset)
            if not data:
                return
            self._offset += len(data)
            data = self._rest + data
            end = data.rfind(b"\n") + 1
            self._rest = data[end:] if len(data) - end < MOST_LINE else b""
            if end:
                yield data[:end]
