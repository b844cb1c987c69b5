"""Pieces of a part in a file: written by one worker, read by another, never by way of the driver.

A file holds one piece for each partition, one after the other, each the canonical encoding of plain data, or bytes as they are (given as a
memoryview: rows that go into a file of the output). What the driver is told is an
``Index``: the file's name, and size and digest of each piece. Whoever reads a piece compares it with its digest. One that is
missing or damaged is gone for good: its file is removed, and the driver lets it be computed again.

The files lie in a folder that workers share: beside the output, in its journal, so that a resume finds them. A worker that does
not see the folder (no shared disk) sends the file itself to the driver, which puts it there.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import xxhash

from samebits.core.codec import decode, encode
from samebits.core.light_dataclass import dataclass
from samebits.data.files import writing
from samebits.data.folding.held_pieces import held_pieces
from samebits.errors import SamebitsError

__all__ = ["Index", "PieceFolder", "PieceLost"]

DIGEST_BYTES = 16
TOKEN = "token"  # noqa: S105 - a file's name


class PieceLost(SamebitsError):
    """A file of pieces is missing, damaged or out of sight; never leaves ``samebits.data.folding``.

    Attributes:
        unseen: This worker does not see the folder; the file may be well.
    """

    def __init__(self, message: str, *, unseen: bool = False) -> None:
        super().__init__(message)
        self.unseen = unseen


class Index(NamedTuple):
    """Where the pieces of a file are.

    Attributes:
        name: Of the file, in the folder.
        sizes: Bytes of each piece; 0 where there is none. An array, because an index goes to every worker and may have thousands.
        digests: xxh3-128 of each, one after the other.
    """

    name: str
    sizes: Sequence[int]
    digests: bytes

    def plain(self) -> list[Any]:
        """Return plain data, for a part: sizes as one string of bytes, because there may be thousands."""
        return [self.name, np.asarray(self.sizes, "<u8").tobytes(), self.digests]

    @classmethod
    def from_plain(cls, found: Sequence[Any]) -> Self:
        """Return what ``plain`` was made of."""
        name, sizes, digests = found
        return cls(name, array("Q", np.frombuffer(sizes, "<u8").astype("u8").tobytes()), digests)

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        return self.start_of(len(self.sizes))

    def start_of(self, piece: int) -> int:
        """Return where a piece begins in the file."""
        return int(np.asarray(self.sizes, "u8")[:piece].sum())


@dataclass(frozen=True, slots=True)
class PieceFolder:
    """A folder of such files; tasks carry it to the workers.

    Attributes:
        path: Absolute.
        token: What the folder holds for workers to find, so that another folder of the same name is not taken for it.
    """

    path: str
    token: str

    @classmethod
    def make(cls, path: Path, token: str) -> Self:
        """Make the folder, or take up one that an interrupted run has left."""
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            (path / TOKEN).write_text(token)
        return cls(str(path.absolute()), token)

    @property
    def is_seen(self) -> bool:
        """Whether this process sees the folder; asked once."""
        return _sees(self.path, self.token)

    def write(self, name: str, pieces: Sequence[Any]) -> tuple[Index, bytes]:
        """Write a file of pieces (None: no piece); return its index, and its bytes if they could not be written here."""
        encoded = [_bytes_of(piece) for piece in pieces]
        digests = b"".join(map(xxhash.xxh3_128_digest, encoded))
        index = Index(name, array("Q", map(len, encoded)), digests)
        if not index.num_bytes:
            return index, b""
        if not self.is_seen:
            return index, b"".join(encoded)
        held = held_pieces(self.path)
        self.put(name, encoded if held is None else encoded[: held.hold(name, encoded)])
        return index, b""

    def put(self, name: str, pieces: Sequence[bytes | memoryview]) -> None:
        """Write a file in one step: two runs of one task may write it at the same time, with the same bytes."""
        path = Path(self.path, name)
        unfinished = path.with_name(f"{name}.{os.getpid()}-{id(pieces)}.partial")
        with writing(path):
            with unfinished.open("wb") as file:
                file.writelines(pieces)
            unfinished.replace(path)

    def holds(self, index: Index) -> bool:
        """Whether a file is there in its full size; its bytes are looked at by whoever reads them."""
        if not index.num_bytes:
            return True  # nothing was written
        try:
            return Path(self.path, index.name).stat().st_size == index.num_bytes
        except OSError:
            return False

    def read(self, index: Index, partition: int) -> Any:
        """Return one piece, or None if there is none.

        Raises:
            PieceLost: it is not there, or not what was written.
        """
        return decode(self.read_bytes(index, partition)) if index.sizes[partition] else None

    def take_bytes(self, index: Index, partition: int) -> bytes | memoryview:
        """Return the bytes of a piece, from memory if it is held there (``held_pieces``), which it is once; else as ``read_bytes``."""
        held = held_pieces(self.path)
        found = held.take(index.name, partition) if held is not None else None
        return self.read_bytes(index, partition) if found is None else found

    def read_bytes(self, index: Index, partition: int) -> bytes:
        """Return the bytes of a piece.

        Raises:
            PieceLost: it is not there, or not what was written.
        """
        size, start = index.sizes[partition], index.start_of(partition)
        if not self.is_seen:
            raise PieceLost(f"no worker here sees {self.path}", unseen=True)
        digest = index.digests[partition * DIGEST_BYTES : (partition + 1) * DIGEST_BYTES]
        path = f"{self.path}/{index.name}"  # there are many pieces, and Path takes longer than reading a small one
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(file, size, start)
            finally:
                os.close(file)
        except OSError as error:
            raise PieceLost(f"cannot read {index.name}: {error.strerror}") from error
        if xxhash.xxh3_128_digest(data) != digest:
            Path(path).unlink(missing_ok=True)
            raise PieceLost(f"{index.name} is not what was written")
        return data

    def read_all(self, indexes: Sequence[Index], partition: int) -> Iterator[Any]:
        """Yield the pieces of one partition in the order of the files."""
        for index in indexes:
            piece = self.read(index, partition)
            if piece is not None:
                yield piece


def _bytes_of(piece: Any) -> bytes | memoryview:
    if piece is None:
        return b""
    return piece if isinstance(piece, memoryview) else encode(piece)


@lru_cache(maxsize=64)
def _sees(folder: str, token: str) -> bool:
    try:
        return Path(folder, TOKEN).read_text() == token
    except OSError:
        return False
