"""The mean of numbers that lie on many workers, to the last bit the mean of all of them in one array.

The kernel adds pairwise: an array of more than 128 numbers is cut near its middle, at a multiple of 8, and the sums of both sides are
added. Which numbers are added in which order follows from the length alone. So whoever holds a range of the whole array adds up
every branch of that tree that lies within it, and sends these sums, and the few numbers of leaves that lie across its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.confusion import pairwise_sum

__all__ = ["mean_of", "sums_of"]

LEAF = 128  # what the kernel adds up in one go


def _halves(start: int, size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    half = size // 2
    half -= half % 8
    return (start, half), (start + half, size - half)


def sums_of(values: NDArray[np.float64], first: int, total: int) -> dict[str, Any]:
    """Return what is needed of ``values``, which are numbers ``first``, ``first + 1`` … of ``total``."""
    branches: list[tuple[int, int]] = []
    sums: list[float] = []
    loose: list[list[Any]] = []
    for start, size in _within(0, total, first, first + len(values)):
        part = values[max(start - first, 0) : start + size - first]
        if len(part) == size:
            branches.append((start, size))
            sums.append(pairwise_sum(part))
        else:  # a leaf across an end
            loose.append([max(start, first), part])
    return {
        "branches": np.array(branches, np.int64).reshape(-1, 2),
        "sums": np.array(sums, np.float64),
        "loose": loose,
    }


def _within(start: int, size: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the largest branches within ``[first, last)``, and the leaves across its ends, in order."""
    if start >= last or start + size <= first or not size:
        return
    if size <= LEAF or (start >= first and start + size <= last):
        yield start, size
        return
    for half in _halves(start, size):
        yield from _within(*half, first, last)


def mean_of(parts: Sequence[dict[str, Any]], total: int) -> float:
    """Return the mean, from what was sent of all ranges, in order.

    >>> values = np.arange(1000) / 7
    >>> parts = [sums_of(values[:300], 0, 1000), sums_of(values[300:], 300, 1000)]
    >>> mean_of(parts, 1000) == pairwise_sum(values) / 1000
    True
    """
    if not total:
        return 0.0
    sums = {
        (start, size): value
        for part in parts
        for (start, size), value in zip(part["branches"].tolist(), part["sums"].tolist(), strict=True)
    }
    loose: dict[int, float] = {}
    for part in parts:
        for start, values in part["loose"]:
            loose.update(enumerate(values.tolist(), start))
    return float(_sum(0, total, sums, loose) / total)


def _sum(start: int, size: int, sums: dict[tuple[int, int], float], loose: dict[int, float]) -> float:
    if (start, size) in sums:
        return sums[start, size]
    if size <= LEAF:
        return pairwise_sum(np.array([loose[i] for i in range(start, start + size)]))
    left, right = _halves(start, size)
    return _sum(*left, sums, loose) + _sum(*right, sums, loose)
