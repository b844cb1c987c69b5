"""A copy of the content of a file that can be entered nowhere: one large Zstandard frame.

Decompressing such a file takes seconds, computing on its content minutes, so it is decompressed once into the cache, and the
copy is cut like any uncompressed file. The copy is named after its own digest, in a folder named after that of the input; it is
hashed whenever a run is planned, as every input is, and made again if it is not what its name says.

Layout: ``<cache>/unpacked/<digest of the input>/<digest of the content>``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import xxhash

from samebits.data.compressed.decoders import BrokenStream, decompressed
from samebits.data.compressed.telling import told
from samebits.data.files import remove_tree
from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.data.inputs.cache import UNFINISHED, new_file

__all__ = ["find_copy", "make_copy"]

#: A file with more content is not copied: it is one shard.
MOST_CONTENT = 16 << 30
#: All copies together; the one that was used longest ago goes first.
MOST_COPIES = 32 << 30


def find_copy(folder: Path, digest: str) -> Path | None:
    """Return the copy of the content of an input, if there is one; whoever uses it compares its digest with its name."""
    try:
        copies = sorted(path for path in (folder / digest).iterdir() if not path.name.startswith(UNFINISHED))
    except OSError:
        return None
    if copies:
        with suppress(OSError):
            os.utime(folder / digest)
    return copies[0] if copies else None


def make_copy(file: VerifiedFile, folder: Path, *, digest: str, compression: str) -> Path | None:
    """Decompress a file; return the copy, or None if the file is damaged or holds too much.

    Raises:
        InputError: There is no room for it, or it grows out of all proportion.
    """
    home = folder / digest
    with new_file(home, origin=file.origin) as unfinished:
        with unfinished.open("wb") as out:  # not synced: what a crash leaves half written has another digest
            name = _write(told(decompressed(file, compression), f"unpacking {file.origin}"), out)
        if not name:
            return None
        unfinished.replace(home / name)
    _make_room(folder, keep=home)
    return home / name


def _write(content: Iterator[bytes], out: IO[bytes]) -> str:
    """Write content; return the digest that a source of it has, nothing if it is damaged or too much."""
    digests = hashlib.sha256()
    block = bytearray()
    num_bytes = 0
    try:
        for data in content:
            num_bytes += len(data)
            if num_bytes > MOST_CONTENT:
                return ""
            out.write(data)
            block += data
            whole = len(block) // BLOCK_BYTES * BLOCK_BYTES
            for at in range(0, whole, BLOCK_BYTES):
                digests.update(xxhash.xxh3_128_digest(memoryview(block)[at : at + BLOCK_BYTES]))
            del block[:whole]
    except BrokenStream:
        return ""
    if block:
        digests.update(xxhash.xxh3_128_digest(block))
    return digests.hexdigest()


def _make_room(folder: Path, *, keep: Path) -> None:
    """Remove the copies that were used longest ago until the rest is little enough; a run that needs one makes it again."""
    with suppress(OSError):
        homes = sorted((path for path in folder.iterdir() if path != keep), key=_used_last)
        sizes = {home: _num_bytes(home) for home in (*homes, keep)}
        for home in homes:
            if sum(sizes.values()) <= MOST_COPIES:
                return
            remove_tree(home)
            sizes.pop(home)


def _used_last(home: Path) -> float:
    return home.stat().st_mtime


def _num_bytes(home: Path) -> int:
    return sum(path.stat().st_size for path in home.iterdir())
