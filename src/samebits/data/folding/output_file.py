"""A file of the output that the workers write: kept rows, one after the other.

Workers keep rows as raw pieces of some megabytes. When all sizes are known, so is every piece's place, and each task writes one block of the
file (``data.sealing``) and hashes it. The driver gets one digest for each block and seals the file with them: no row passes through it.

A block is written again after a resume: what an interrupted run had written of the output is removed when the next one begins.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data import sealing
from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.shape import consecutive
from samebits.data.folding.tree import Folding, KeptPart

__all__ = ["row_pieces", "write_output", "write_pieces"]

PIECE_BYTES = 8 << 20
NOWHERE = Index("nowhere", (1,), b"")  # no such file: a written block is never taken from a journal


def row_pieces(data: bytes) -> list[Any]:
    """Cut rows into raw pieces."""
    view = memoryview(data)
    return [view[at : at + PIECE_BYTES] for at in range(0, len(view), PIECE_BYTES)]


class PiecePlaces(NamedTuple):
    """Where pieces go: piece ``piece[i]`` of file ``file[i]`` from byte ``start[i]`` of the output on; the last start is its end."""

    indexes: tuple[Index, ...]
    file: NDArray[np.int64]
    piece: NDArray[np.int64]
    start: NDArray[np.int64]


def _places(indexes: Sequence[Index]) -> PiecePlaces:
    counts = [len(index.sizes) for index in indexes]
    sizes = np.array([size for index in indexes for size in index.sizes], np.int64)
    numbers = [np.arange(count) for count in counts]
    return PiecePlaces(
        tuple(indexes),
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([np.empty(0, np.int64), *numbers]),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
    )


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """The task: one block of the file; tells its sha256."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    path: str

    def __call__(self, shard: Shard, state: PiecePlaces, /) -> KeptPart:
        """Write the bytes of ``[shard.start, shard.stop)``."""
        block = hashlib.sha256()
        at = shard.start
        number = int(np.searchsorted(state.start, at, side="right")) - 1
        with writing(Path(self.path)), Path(self.path).open("r+b", buffering=0) as file:
            while at < shard.stop:
                index = state.indexes[int(state.file[number])]
                data = memoryview(self.folder.read_bytes(index, int(state.piece[number])))
                first = int(state.start[number])
                piece = data[at - first : shard.stop - first]
                block.update(piece)
                _write_at(file.fileno(), piece, at)
                at += len(piece)
                number += 1
        return KeptPart(block.digest(), NOWHERE.plain(), b"")


def _write_at(file: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


def write_output(workers: Folding, out: ArtifactWriter, name: str, indexes: Sequence[Index]) -> None:
    """Let the workers write raw pieces, in the order of their files, as one file of the output."""
    _write(workers, out, name, _places(indexes))


def write_pieces(
    workers: Folding, out: ArtifactWriter, name: str, chosen: Sequence[tuple[Index, int]]
) -> None:
    """Let the workers write some raw pieces, one after the other, as one file of the output; none of them is empty."""
    sizes = np.array([index.sizes[piece] for index, piece in chosen], np.int64)
    places = PiecePlaces(
        tuple(index for index, _ in chosen),
        np.arange(len(chosen)),
        np.array([piece for _, piece in chosen], np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
    )
    _write(workers, out, name, places)


def _write(workers: Folding, out: ArtifactWriter, name: str, places: PiecePlaces) -> None:
    path = out.path(name)
    size = int(places.start[-1])
    with writing(path), path.open("wb") as file:
        file.truncate(size)
    shards = consecutive(size, sealing.BLOCK_BYTES)
    task = WriteBlock(workers.folder, str(path.absolute()))
    told = [part.told for _, part in workers.map(f"write {name}", task, shards, places, unit="bytes")]
    out.know(name, sealing.entry_of(size, told or [hashlib.sha256().digest()]))
