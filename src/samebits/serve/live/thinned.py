"""Curves in bounded memory: at most so many buckets, each holding the mean of what fell into it.

A bucket is as wide as needed: when a value lies beyond the last one, neighbours are merged and the width doubles. So a run
of a million steps costs what a run of a thousand does, and the curve of a run never depends on when it was looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_BUCKETS", "Busy", "Thinned"]

MOST_BUCKETS = 512  # about one a pixel of a chart
Floats = NDArray[np.float64]


class Thinned:
    """Mean of y over buckets of x, from x = 0 up.

    Attributes:
        width: Of a bucket, in units of x.
        epoch: Grows when buckets are merged: whoever copied the curve must copy it anew. Otherwise only the last one changes.
        count: Values so far.
        last: The newest pair (x, y).
    """

    def __init__(self, width: float = 1.0, most: int = MOST_BUCKETS) -> None:
        self.width = width
        self.epoch = 0
        self.count = 0
        self.last: tuple[float, float] | None = None
        self._most = most
        self._sums = np.zeros((3, most))  # of x, of y, and how many

    def add(self, x: Floats, y: Floats) -> None:
        """Take values; those that are not finite are left out, those at or before the last x are known already."""
        usable = np.isfinite(x) & np.isfinite(y) & (x >= 0)
        x, y = x[usable], y[usable]
        after = self.last[0] if self.last else -np.inf
        fresh = x > np.maximum.accumulate(np.concatenate([[after], x]))[:-1]
        x, y = x[fresh], y[fresh]
        if not len(x):
            return
        while x.max() >= self.width * self._most:
            self._merge()
        bucket = (x // self.width).astype(np.int64)
        for row, values in enumerate((x, y, np.ones(len(x)))):
            self._sums[row] += np.bincount(bucket, values, minlength=self._most)
        self.count += len(x)
        newest = int(x.argmax())
        self.last = (float(x[newest]), float(y[newest]))

    def _merge(self) -> None:
        half = self._sums.reshape(3, self._most // 2, 2).sum(axis=2)
        self._sums = np.concatenate([half, np.zeros_like(half)], axis=1)
        self.width *= 2
        self.epoch += 1

    def points(self) -> list[tuple[float, float]]:
        """Return (mean x, mean y) of the buckets that hold anything."""
        some = self._sums[2] > 0
        x, y, n = self._sums[:, some]
        return list(zip((x / n).tolist(), (y / n).tolist(), strict=True))


class Busy:
    """How many workers were at work over time: seconds of work in each bucket of time, divided by its width.

    Attributes:
        width: Of a bucket in seconds.
        epoch: As in ``Thinned``; work that ends late changes buckets of the past, so it grows often.
    """

    def __init__(self, width: float = 0.25, most: int = 256) -> None:
        self.width = width
        self.epoch = 0
        self._most = most
        self._work = np.zeros(most)
        self._top = 0.0

    def add(self, start: Floats, seconds: Floats) -> None:
        """Take pieces of work, given by their start after the beginning and how long they took."""
        keep = np.isfinite(start) & np.isfinite(seconds) & (seconds > 0) & (start >= 0)
        start, stop = start[keep], (start + seconds)[keep]
        if not len(start):
            return
        self.epoch += 1
        self._top = max(self._top, float(stop.max()))
        while self._top >= self.width * self._most:
            half = self._work.reshape(self._most // 2, 2).sum(axis=1)
            self._work = np.concatenate([half, np.zeros_like(half)])
            self.width *= 2
        self._work += np.diff(self._integral(start, stop))

    def _integral(self, start: Floats, stop: Floats) -> Floats:
        """Return the work done before each border of a bucket: slopes between starts and stops add up."""
        borders = np.arange(self._most + 1) * self.width
        begun, ended = np.sort(start), np.sort(stop)
        before = np.searchsorted(begun, borders)
        after = np.searchsorted(ended, borders)
        sums = np.concatenate([[0.0], np.cumsum(begun)]), np.concatenate([[0.0], np.cumsum(ended)])
        found: Floats = (before * borders - sums[0][before]) - (after * borders - sums[1][after])
        return found

    def points(self) -> list[tuple[float, float]]:
        """Return (middle of a bucket, workers busy) up to the last work; the last bucket counts as far as it went."""
        used = int(self._top // self.width) + 1 if self._top else 0
        found = []
        for number, work in enumerate(self._work[:used].tolist()):
            length = min(self.width, self._top - number * self.width)
            if length > self.width / 4:
                found.append((number * self.width + length / 2, work / length))
        return found
