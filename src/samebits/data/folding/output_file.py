"""Files of the output that the workers write: what each holds is told by kept pieces and their sizes.

When all sizes are known, so is the place of every byte. A file is described by its ``Content``, which can give any range of it from kept
pieces; each task writes one block of a file (``data.sealing``) and hashes it. The driver gets one digest for each block and seals the files
with them: no row passes through it.

A block is written again after a resume: what an interrupted run had written of the output is removed when the next one begins.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard, cut
from samebits.data import sealing
from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import Folding, KeptPart

__all__ = ["Content", "KeptBytes", "row_pieces", "write_output", "write_outputs"]

PIECE_BYTES = 8 << 20
SYNC_BYTES = (
    16 << 20
)  # who wrote so much of a file also waits for the disk; the rest is synced with the whole artifact
NOWHERE = Index("nowhere", (1,), b"")  # no such file: a written block is never taken from a journal


class Content(Protocol):
    """What a file holds: a module-level frozen dataclass, so that plain pickle carries it to the workers."""

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        ...

    def chunks(self, folder: PieceFolder, start: int, stop: int) -> Iterator[memoryview]:
        """Yield the bytes ``[start, stop)`` one after the other, made of pieces in the folder."""
        ...


def row_pieces(data: bytes | memoryview) -> list[Any]:
    """Cut bytes into raw pieces."""
    view = memoryview(data)
    return [view[at : at + PIECE_BYTES] for at in range(0, len(view), PIECE_BYTES)]


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Some first bytes, then all raw pieces of some files, as they are.

    Attributes:
        head: The first bytes.
        indexes: Of the files.
        file: Of each piece, the number of its file.
        piece: Of each piece, its number in the file.
        start: Of each piece, its place after the head; the last one is where all of them end.
    """

    head: bytes
    indexes: tuple[Index, ...]
    file: NDArray[np.int64]
    piece: NDArray[np.int64]
    start: NDArray[np.int64]

    @classmethod
    def of(
        cls, indexes: Sequence[Index], head: bytes = b"", pieces: Sequence[Sequence[int]] | None = None
    ) -> Self:
        """Put the pieces of files one after the other: of each file all, or the given ones."""
        pieces = [range(len(index.sizes)) for index in indexes] if pieces is None else pieces
        sizes = [index.sizes[piece] for index, own in zip(indexes, pieces, strict=True) for piece in own]
        return cls(
            head,
            tuple(indexes),
            np.repeat(np.arange(len(pieces)), np.array([len(own) for own in pieces], np.int64)),
            np.array([piece for own in pieces for piece in own], np.int64),
            np.cumsum([0, *sizes]),
        )

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        return len(self.head) + int(self.start[-1])

    def chunks(self, folder: PieceFolder, start: int, stop: int) -> Iterator[memoryview]:
        """Yield the bytes of a range, piece by piece."""
        if start < len(self.head):
            yield memoryview(self.head)[start:stop]
        at, stop = max(0, start - len(self.head)), stop - len(self.head)
        number = int(np.searchsorted(self.start, at, side="right")) - 1
        while at < stop:
            index = self.indexes[int(self.file[number])]
            first = int(self.start[number])
            piece = memoryview(folder.read_bytes(index, int(self.piece[number])))[at - first : stop - first]
            yield piece
            at += len(piece)
            number += 1


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """The task: one block of one file; tells its sha256."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    paths: tuple[str, ...]

    def __call__(self, shard: Shard, state: Sequence[Content], /) -> KeptPart:
        """Write the bytes of ``[shard.start, shard.stop)``."""
        block, at = hashlib.sha256(), shard.start
        path = Path(self.paths[shard.source])
        with writing(path), path.open("r+b", buffering=0) as file:
            for chunk in state[shard.source].chunks(self.folder, shard.start, shard.stop):
                block.update(chunk)
                _write_at(file.fileno(), chunk, at)
                at += len(chunk)
            if at - shard.start >= SYNC_BYTES:
                os.fdatasync(file.fileno())
        return KeptPart(block.digest(), NOWHERE.plain(), b"")


def _write_at(file: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


def write_outputs(workers: Folding, out: ArtifactWriter, stage: str, contents: Mapping[str, Content]) -> None:
    """Let the workers write files of the output, in one stage."""
    names, paths = list(contents), [out.path(name) for name in contents]
    sizes = [content.num_bytes for content in contents.values()]
    for path, size in zip(paths, sizes, strict=True):
        with writing(path), path.open("wb") as file:
            file.truncate(size)
    task = WriteBlock(workers.folder, tuple(str(path.absolute()) for path in paths))
    told: list[list[bytes]] = [[] for _ in names]
    blocks = cut(sizes, sealing.BLOCK_BYTES)
    for shard, part in workers.map(stage, task, blocks, tuple(contents.values()), unit="bytes"):
        told[shard.source].append(part.told)
    for name, size, digests in zip(names, sizes, told, strict=True):
        out.know(name, sealing.entry_of(size, digests or [hashlib.sha256().digest()]))


def write_output(workers: Folding, out: ArtifactWriter, name: str, indexes: Sequence[Index]) -> None:
    """Let the workers write raw pieces, in the order of their files, as one file of the output."""
    write_outputs(workers, out, f"write {name}", {name: KeptBytes.of(indexes)})
