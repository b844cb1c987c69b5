"""Batches from arrays in memory: every row once an epoch, in an order named by (seed, epoch), at random access.

The order is a permutation made again wherever it is needed, so no worker keeps a position and a resume needs no state.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import draw_order, rng_for
from samebits.errors import ConfigError

__all__ = ["ArrayBatches"]


class ArrayBatches:
    """Rows of equally long arrays; a batch is a tuple with the same rows of each.

    >>> data = ArrayBatches(np.arange(6.0), np.arange(6) * 10, batch=4, shuffle=False)
    >>> data.batch(0, 1, 2, rng=None)
    (array([2., 3.]), array([20, 30]))

    Args:
        arrays: The first axis of each counts rows.
        batch: Rows of one step, over all shards.
        shuffle: Another order every epoch; without it rows come in their own order.
        seed: Root of the orders.
    """

    def __init__(self, *arrays: NDArray[Any], batch: int, shuffle: bool = True, seed: int = 0) -> None:
        lengths = sorted({len(array) for array in arrays})
        if len(lengths) != 1 or not 1 <= batch <= lengths[0]:
            raise ConfigError(
                f"batch is {batch} for arrays of lengths {lengths}",
                hint="give equally long arrays with at least one batch of rows",
            )
        self.arrays = arrays
        self.units_per_step = batch
        self.shuffle = shuffle
        self.seed = seed
        self._order: tuple[int, NDArray[np.int64]] = (-1, np.zeros(0, np.int64))

    def check(self, num_shards: int) -> None:
        """Refuse a batch that cannot be split into equal shards: their mean would not be the mean over rows."""
        if self.units_per_step % num_shards:
            raise ConfigError(
                f"a batch of {self.units_per_step} rows cannot be split into {num_shards} equal shards",
                hint=f"make the batch a multiple of {num_shards}, or choose a different number of shards",
            )

    def identity(self) -> dict[str, Any]:
        """Return the digest of all rows, and how they are drawn."""
        hasher = hashlib.sha256()
        for array in self.arrays:
            hasher.update(f"{array.dtype.str}{array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).tobytes())
        return {
            "data": hasher.hexdigest(),
            "batch": self.units_per_step,
            "shuffle": self.shuffle,
            "data_seed": self.seed,
        }

    def batch(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator | None
    ) -> tuple[NDArray[Any], ...]:
        """Return the rows of one shard."""
        size = self.units_per_step // num_shards
        first = step * self.units_per_step + g * size
        rows = self._rows(first, first + size)
        return tuple(array[rows] for array in self.arrays)

    def _rows(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the rows at positions ``[first, last)`` of the endless sequence of epochs."""
        num_rows = len(self.arrays[0])
        pieces = []
        while first < last:
            epoch, start = divmod(first, num_rows)
            stop = min(num_rows, start + last - first)
            pieces.append(self._epoch(epoch)[start:stop])
            first += stop - start
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _epoch(self, epoch: int) -> NDArray[np.int64]:
        if self._order[0] != epoch:
            num_rows = len(self.arrays[0])
            order = (
                draw_order(rng_for(self.seed, "rows", epoch), num_rows)
                if self.shuffle
                else np.arange(num_rows)
            )
            self._order = (epoch, order)
        return self._order[1]
