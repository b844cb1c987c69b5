"""Amdahl's law fitted to measurements: how much of a run does not shrink with more workers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["fit_amdahl"]


def fit_amdahl(points: Sequence[tuple[int, float]]) -> float:
    """Return the serial share that fits (workers, speed-up) best in the sense of least squares of 1/S.

    >>> round(fit_amdahl([(1, 1.0), (2, 1.6), (4, 2.2857142857)]), 3)
    0.25
    """
    top = bottom = 0.0
    for workers, speedup in points:
        lever = 1 - 1 / workers  # 1/S - 1/w = f * (1 - 1/w)
        top += (1 / speedup - 1 / workers) * lever
        bottom += lever * lever
    return min(1.0, max(0.0, top / bottom)) if bottom else 0.0
