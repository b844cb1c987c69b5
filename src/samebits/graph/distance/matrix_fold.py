"""The matrices of a job, made by workers: pairs are kept by the rows they belong to, and each band of rows is put together by one task.

A *band* is as many rows as one worker can well hold; how many there are comes from the size of the matrix alone. A pair of a mirrored
matrix stands in two places, so it is kept for both bands. The driver is told how many pairs are proven and, where it is to let them be
proven, which ones are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.array_file import npy_header
from samebits.data.folding.output_file import KeptBytes, row_pieces
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.graph.distance.matrix import MatrixShard, PairGrid, PairsPart
from samebits.graph.distance.until_exact import is_open

__all__ = ["MatrixFile", "MatrixFold", "PairsTold", "matrix_files", "num_bands"]

BAND_BYTES = 64 << 20  # of one matrix
MOST_BANDS = 256
VALUE = np.dtype("<i8")


def num_bands(grid: PairGrid) -> int:
    """Return into how many bands the rows are cut.

    >>> from samebits.graph.distance.matrix import PairGrid
    >>> [num_bands(PairGrid(None, None, rows, rows, True)) for rows in (0, 1, 2000, 10_000, 200_000)]
    [1, 1, 1, 12, 256]
    """
    num_bytes = grid.rows * grid.columns * VALUE.itemsize
    return max(1, min(-(-num_bytes // BAND_BYTES), MOST_BANDS, grid.rows))


class PairsTold(NamedTuple):
    """What the driver is told of a shard's pairs.

    Attributes:
        exact: How many are proven.
        expansions: States looked at.
        open: Those that are neither proven nor beyond the limit, where asked for: number of the pair, bounds and states.
    """

    exact: int
    expansions: int
    open: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatrixFold:
    """How pairs become bands (``data.folding.tree.Fold``).

    Attributes:
        task: How pairs are compared.
        grid_shape: Rows and columns of the matrices.
        bands: How many.
        tell_open: Whether the driver asks for pairs that are open.
    """

    task: MatrixShard
    grid_shape: tuple[int, int]
    bands: int
    tell_open: bool

    def count(self, shards: Sequence[Shard], state: PairGrid, /) -> tuple[list[Any], list[Any]]:
        """Compare the pairs of some shards; return for each band where in it values stand, and the values."""
        parts = [self.task(shard, state) for shard in shards]
        told = [list(self._told(shard, part)) for shard, part in zip(shards, parts, strict=True)]
        values = [np.concatenate(column) for column in zip(*parts, strict=True)]
        rows, columns = (
            np.concatenate(column)
            for column in zip(*(state.pairs(shard.start, shard.stop) for shard in shards), strict=True)
        )
        if state.mirrored:
            rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
            values = [np.concatenate([one, one]) for one in values]
        return told, self._cut(rows, columns, values)

    def together(self, before: list[Any], after: list[Any], /) -> list[Any]:
        """Add up what two runs of shards tell."""
        opened = np.concatenate([before[2], after[2]], axis=1)
        return [before[0] + after[0], before[1] + after[1], opened]

    def _cut(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: list[NDArray[np.int64]]
    ) -> list[Any]:
        firsts = np.array([self.rows_of(band)[0] for band in range(self.bands)])
        band = np.searchsorted(firsts, rows, side="right") - 1
        order = np.argsort(band, kind="stable")
        cuts = np.searchsorted(band[order], np.arange(self.bands + 1)).tolist()
        pieces: list[Any] = []
        for first, start, stop in zip(firsts.tolist(), cuts, cuts[1:], strict=False):
            pick = order[start:stop]
            places = (rows[pick] - first) * self.grid_shape[1] + columns[pick]
            pieces.append([places, *(one[pick] for one in values)] if start < stop else None)
        return pieces

    def _told(self, shard: Shard, part: PairsPart) -> PairsTold:
        unproven = is_open(part.lower, part.upper, self.task.limit) & self.tell_open
        numbers = np.arange(shard.start, shard.stop)
        return PairsTold(
            int((part.lower == part.upper).sum()),
            int(part.expansions.sum()),
            np.stack([numbers, *part])[:, unproven],
        )

    def rows_of(self, band: int) -> tuple[int, int]:
        """Return the rows of a band."""
        num_rows = self.grid_shape[0]
        return num_rows * band // self.bands, num_rows * (band + 1) // self.bands

    def merge(self, pieces: Iterable[Any], /) -> list[NDArray[np.int64]]:
        """Put values of one band together."""
        return [np.concatenate(column) for column in zip(*pieces, strict=True)]

    def reduce(self, pieces: Iterable[Any], partition: int, /) -> tuple[Any, list[Any]]:
        """Return the rows of a band of each matrix, one matrix after the other."""
        first, last = self.rows_of(partition)
        bands = [np.zeros((last - first) * self.grid_shape[1], VALUE) for _ in PairsPart._fields]
        for places, *values in pieces:
            for band, own in zip(bands, values, strict=True):
                band[places] = own
        return None, [
            piece for band in bands for piece in row_pieces(band.data.cast("B") if len(band) else b"")
        ]


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A matrix as a file, with some values that were found later; see ``data.folding.output_file.Content``.

    Attributes:
        kept: Header and bands.
        places: Of the later values, as byte offsets in the file, in order.
        values: The later values.
    """

    kept: KeptBytes
    places: NDArray[np.int64]
    values: NDArray[np.int64]

    @property
    def num_bytes(self) -> int:
        """Size of the file."""
        return self.kept.num_bytes

    def chunks(self, folder: PieceFolder, start: int, stop: int) -> Iterator[memoryview]:
        """Yield the bytes of a range."""
        at = start
        for chunk in self.kept.chunks(folder, start, stop):
            yield self._amended(chunk, at)
            at += len(chunk)

    def _amended(self, chunk: memoryview, at: int) -> memoryview:
        first = int(np.searchsorted(self.places, at - VALUE.itemsize, side="right"))
        last = int(np.searchsorted(self.places, at + len(chunk), side="left"))
        if first == last:
            return chunk
        data = np.array(chunk)
        places = self.places[first:last, None] + np.arange(VALUE.itemsize) - at
        values = self.values[first:last].astype(VALUE).view(np.uint8).reshape(-1, VALUE.itemsize)
        inside = (places >= 0) & (places < len(data))
        data[places[inside]] = values[inside]
        return data.data


def matrix_files(
    fold: MatrixFold, found: Sequence[Index], places: NDArray[np.int64], values: NDArray[np.int64]
) -> dict[str, MatrixFile]:
    """Return the three files: bands as workers keep them, and values that were found later, by their place in the matrix."""
    head = npy_header(VALUE.str, fold.grid_shape)
    order = np.argsort(places)
    offsets = len(head) + places[order] * VALUE.itemsize
    files = {}
    for number, (name, later) in enumerate(zip(PairsPart._fields, values, strict=True)):
        thirds = [_third(index, number) for index in found]
        files[f"{name}.npy"] = MatrixFile(KeptBytes.of(found, head, thirds), offsets, later[order])
    return files


def _third(index: Index, number: int) -> range:
    """Return which pieces of a band belong to one of the three matrices."""
    each = len(index.sizes) // len(PairsPart._fields)
    return range(number * each, (number + 1) * each)
