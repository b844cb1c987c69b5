"""Rows that are too long: cut them, drop them, or take several windows of them.

All of it is arithmetic on (row, start, stop); the tokens are copied once, and not at all when every row fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.kernels.tokens.rows import copy_ranges

__all__ = ["Fitted", "fit_rows"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Rows that fit.

    Attributes:
        ids: Their tokens, one row after the other.
        lengths: Tokens of each.
        rows: Number of the row each came from.
        starts: Where in that row it starts: above 0 only for later windows.
        cut: Rows that lost tokens.
        dropped: Rows left out.
    """

    ids: NDArray[Any]
    lengths: Ints
    rows: Ints
    starts: Ints
    cut: Ints
    dropped: Ints


def fit_rows(ids: NDArray[Any], lengths: Ints, *, width: int | None, policy: str, step: int) -> Fitted:
    """Bring every row to at most ``width`` tokens.

    Args:
        ids: Tokens, one row after the other, of any stored type.
        lengths: Tokens of each row.
        width: Longest row kept; None keeps all.
        policy: ``cut``, ``drop`` or ``window``.
        step: Tokens from one window to the next.
    """
    rows, starts, none = np.arange(len(lengths)), np.zeros(len(lengths), np.int64), np.zeros(0, np.int64)
    long = np.flatnonzero(lengths > width) if width is not None else none
    if width is None or not len(long):
        return Fitted(ids, lengths, rows, starts, none, none)
    if policy == "drop":
        rows, starts = np.flatnonzero(lengths <= width), starts[: len(rows) - len(long)]
    elif policy == "window":
        rows, starts = _windows(lengths, width, step)
    kept = np.minimum(lengths[rows] - starts, width)
    begins = (np.cumsum(lengths) - lengths)[rows] + starts
    out = np.empty(int(kept.sum()), ids.dtype)
    copy_ranges(ids, begins, begins + kept, out)
    cut, dropped = (long if policy == name else none for name in ("cut", "drop"))
    return Fitted(out, kept, rows, starts, cut, dropped)


def _windows(lengths: Ints, width: int, step: int) -> tuple[Ints, Ints]:
    """Row and start of every window; the last window of a row reaches its end.

    >>> rows, starts = _windows(np.array([3, 8]), width=4, step=3)
    >>> rows.tolist(), starts.tolist()
    ([0, 1, 1, 1], [0, 0, 3, 6])
    """
    num = 1 + np.maximum(0, -(-(lengths - width) // step))
    rows = np.repeat(np.arange(len(lengths)), num)
    first = np.repeat(np.cumsum(num) - num, num)
    return rows, (np.arange(len(rows)) - first) * step
