"""Files read in fixed blocks, each checked against the digest taken when the run was planned.

Every input is hashed once, at plan time, in blocks of 256 KiB on a grid that starts at byte 0. Every later read
goes through a ``VerifiedFile``, which reads whole blocks and compares each with its planned digest. So each byte
a task uses is a byte the plan has seen: an input that changed meanwhile is refused with its name and offset, and
no time stamp has to be trusted. Why xxh3-128 and why this grid: docs/decisions/input-digests.md.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from io import BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import xxhash

from samebits.errors import InputError
from samebits.kernels.text.block_digests import file_digests, read_blocks
from samebits.machine import early_start

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BLOCK_BYTES",
    "DIGEST_BYTES",
    "READ_BYTES",
    "Noted",
    "UnplannedFile",
    "VerifiedFile",
    "begin_hashing",
    "begun_hashing",
    "hash_blocks",
    "taken_blocks",
]

# Small enough that checking the blocks around a cell's two borders costs little (2 of 34 for a cell of 8 MiB),
# large enough that the table is 16 bytes in 262,144: 64 MB for a terabyte.
BLOCK_BYTES = 1 << 18
DIGEST_BYTES = 16
PAGE_BYTES = 4096
# Blocks taken in one read(): 2 MiB for each of four threads keeps memory small, keeps the number of system calls low and stays within most caches.
READ_BYTES = 8 * BLOCK_BYTES
EARLY = "blocks of "  # what ``machine.early_start`` calls the digests of a file
EARLY_BYTES = 4 * BLOCK_BYTES  # stays in the cache next to the core


def hash_blocks(
    file: FileIO | BytesIO, *, num_bytes: int | None = None, buffer: memoryview | None = None
) -> Iterator[tuple[memoryview, bytes]]:
    """Yield each block of an unbuffered file with its digest; the view is valid until the next one is asked for.

    Args:
        file: Read from where it stands, which must be on the grid.
        num_bytes: Stop after so many, a multiple of ``READ_BYTES``; None reads to the end.
        buffer: Room to read into, of whole blocks; ``READ_BYTES`` if it is not given.

    >>> import io
    >>> [(len(block), digest.hex()[:8]) for block, digest in hash_blocks(io.BytesIO(b"abc"))]
    [(3, '06b05ab6')]
    """
    buffer = room_for(READ_BYTES).data if buffer is None else buffer
    left = num_bytes
    while (left is None or left > 0) and (filled := _fill(file, buffer)):
        left = left if left is None else left - filled
        for at in range(0, filled, BLOCK_BYTES):
            block = buffer[at : min(at + BLOCK_BYTES, filled)]
            yield block, xxhash.xxh3_128_digest(block)
        if filled < len(buffer):
            return


def begin_hashing(path: str) -> None:
    """Hash a file on a thread of its own, before it is known what for; ``hash_files`` takes what comes of it.

    It may begin before NumPy is there, and needs no GIL, because whoever imports gives other threads little time.
    """
    early_start.begin(EARLY + path, lambda: _sized_blocks(path))


def begun_hashing(path: str, seconds: float) -> None:
    """Wait for what ``begin_hashing`` has begun, but not for long."""
    early_start.look(EARLY + path, seconds)


def taken_blocks(path: str) -> tuple[int, bytes]:
    """Return the size of a file and the digests of its blocks, if that was begun, once; else -1 and nothing."""
    return early_start.take(EARLY + path) or (-1, b"")


def _sized_blocks(path: str) -> tuple[int, bytes]:
    with Path(path).open("rb", buffering=0) as file:
        return file_digests(file.fileno(), BLOCK_BYTES, memoryview(mmap.mmap(-1, EARLY_BYTES)))


def room_for(num_bytes: int) -> NDArray[np.uint8]:
    """Return room to read a file into, from the start of a page on.

    Large blocks come from malloc 16 bytes after a page starts, and a copy from a page to such an address is what some
    processors (AMD EPYC) are bad at: reading 35 MB took 18 to 25 ms there, and 5 to 6 ms at any other multiple of 16. Not
    zeroed, so untouched pages cost nothing: files may be tiny.
    """
    import numpy as np  # not needed to hash, which may begin before it is there

    raw = np.empty(num_bytes + PAGE_BYTES, dtype=np.uint8)
    start = -raw.ctypes.data % PAGE_BYTES
    return raw[start : start + num_bytes]


def _fill(file: FileIO | BytesIO, view: memoryview) -> int:
    """Read until the view is full or the file ends: one read() may give less."""
    filled = 0
    while filled < len(view) and (num := file.readinto(view[filled:])):
        filled += num
    return filled


class VerifiedFile:
    """One input, opened for reading; gives only bytes whose block has the planned digest.

    Attributes:
        size: Planned size in bytes.
        origin: The input as the user named it, for messages.
    """

    def __init__(self, path: str, *, size: int, blocks: bytes, origin: str) -> None:
        self.size = size
        self.origin = origin
        self._blocks = blocks
        try:
            self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115  # closed by __exit__
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", path=origin) from error
        found = os.fstat(self._file.fileno()).st_size
        if found != size:
            self._file.close()
            raise self._changed(f"it has {found} bytes, it had {size}", min(found, size))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read_into(self, view: memoryview, start: int) -> None:
        """Fill the view with the bytes from ``start``, which must be on the grid, in whole blocks or to the end."""
        try:
            filled, digests = read_blocks(self._file.fileno(), start, BLOCK_BYTES, view)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=self.origin, offset=start) from error
        if filled < len(view):
            raise self._changed("it has become shorter", start + filled)
        self._check(start, digests)

    def _check(self, start: int, digests: bytes) -> None:
        entry = start // BLOCK_BYTES * DIGEST_BYTES
        if digests == self._blocks[entry : entry + len(digests)]:
            return
        for at in range(0, len(digests), DIGEST_BYTES):
            if digests[at : at + DIGEST_BYTES] != self._blocks[entry + at : entry + at + DIGEST_BYTES]:
                raise self._changed("other bytes are there now", start + at // DIGEST_BYTES * BLOCK_BYTES)

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the bytes of ``[start, stop)`` rounded out to the grid (``start`` must be on it) and to the end."""
        stop = min(-(-stop // BLOCK_BYTES) * BLOCK_BYTES, self.size)
        room = self._room_for(max(stop - start, 0))
        if len(room):
            self.read_into(memoryview(room), start)
        data: NDArray[np.uint8] = room
        return data

    def _room_for(self, num_bytes: int) -> Any:
        return room_for(num_bytes)

    def _changed(self, what: str, offset: int) -> InputError:
        return InputError(
            f"the input changed after the run was planned: {what}",
            path=self.origin,
            offset=offset,
            hint="let nothing write to the input while it is read, then start the command again",
        )


class Noted(NamedTuple):
    """What was read before there was a plan: the size of the file, and the digests of some blocks with their place in its table."""

    size: int
    entry: int
    digests: bytes

    def is_of(self, size: int, blocks: bytes) -> bool:
        """Whether the plan knows a file of this size and every block that was read."""
        return size == self.size and blocks[self.entry : self.entry + len(self.digests)] == self.digests


class UnplannedFile(VerifiedFile):
    """A file that is read before there is a plan, and before NumPy is there; digests are noted, to be compared later.

    What was read is valid until the next read, and ``noted`` is what belongs to it.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, size=Path(path).stat().st_size, blocks=b"", origin=path)
        self.noted = Noted(self.size, 0, b"")
        self._room = memoryview(b"")

    def _room_for(self, num_bytes: int) -> Any:
        if len(self._room) < num_bytes:
            self._room = memoryview(mmap.mmap(-1, num_bytes))
        return self._room[:num_bytes]

    def _check(self, start: int, digests: bytes) -> None:
        self.noted = Noted(self.size, start // BLOCK_BYTES * DIGEST_BYTES, digests)
