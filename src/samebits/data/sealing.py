"""How a file of an artifact is sealed: by its sha256, and a large one by the sha256 of its blocks.

One process must compute a sha256 from the first byte to the last. So a file of more than one block (256 MiB) is sealed by the sha256 over
the sha256 of each block, in order: whoever writes a block hashes it, and whoever checks the file may check blocks side by side. The entry of such a
file in the manifest says ``block_bytes``. An entry without it is the plain sha256, whatever the size: earlier versions knew no blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["BLOCK_BYTES", "Sealer", "entry_of", "found_seal", "seal_file"]

BLOCK_BYTES = 256 << 20
READ_BYTES = 1 << 20


class Sealer:
    """Hashes a file while it is written.

    >>> sealer = Sealer()
    >>> sealer.update(b"abc")
    >>> sealer.entry() == {"size": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}
    True
    """

    def __init__(self, block_bytes: int = 0) -> None:
        self._block_bytes = block_bytes or BLOCK_BYTES
        self._blocks: list[bytes] = []
        self._block = hashlib.sha256()
        self._room = self._block_bytes
        self._size = 0

    def update(self, data: bytes | memoryview) -> None:
        """Take the next bytes of the file."""
        if not (view := memoryview(data)).nbytes:
            return  # and what is empty cannot be cast
        view = view.cast("B")
        self._size += len(view)
        while len(view):
            if not self._room:
                self._blocks.append(self._block.digest())
                self._block, self._room = hashlib.sha256(), self._block_bytes
            piece = view[: self._room]
            self._block.update(piece)
            self._room -= len(piece)
            view = view[len(piece) :]

    def entry(self) -> dict[str, Any]:
        """Return the file's entry in the manifest."""
        return entry_of(self._size, [*self._blocks, self._block.digest()], self._block_bytes)


def entry_of(size: int, blocks: Sequence[bytes], block_bytes: int = 0) -> dict[str, Any]:
    """Return the entry of a file with these sha256 of its blocks; an empty file has one block."""
    if len(blocks) == 1:
        return {"size": size, "sha256": blocks[0].hex()}
    digest = hashlib.sha256(b"".join(blocks)).hexdigest()
    return {"size": size, "sha256": digest, "block_bytes": block_bytes or BLOCK_BYTES}


def seal_file(path: Path, block_bytes: int = 0) -> dict[str, Any]:
    """Return the entry of a file on disk."""
    sealer = Sealer(block_bytes)
    with path.open("rb") as file:
        while data := file.read(READ_BYTES):
            sealer.update(data)
    return sealer.entry()


def found_seal(path: Path, expected: dict[str, Any]) -> str:
    """Return the sha256 of a file as its entry in a manifest takes it: of all of it, or of its blocks."""
    size = path.stat().st_size
    return str(seal_file(path, int(expected.get("block_bytes", max(size, 1))))["sha256"])
