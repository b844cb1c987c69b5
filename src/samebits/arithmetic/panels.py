"""Rows as panels of 32: how arrays of rows and of ids lie in a ``Network``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.recording.ops import PANEL, round_up

__all__ = ["ids_of", "panels_of"]

Ids = NDArray[np.int64]


def panels_of(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows (n, features) as panels, with rows of zeros at the end."""
    if x.ndim != 2:
        raise ValueError(f"an array of shape {x.shape} is not (rows, features)")
    n, features = x.shape
    wide = np.zeros((round_up(max(n, 1), PANEL), features), np.float32)
    wide[:n] = x
    return np.ascontiguousarray(wide.reshape(-1, PANEL, features).transpose(0, 2, 1))


def ids_of(ids: Ids) -> Ids:
    """Return ids (n,) as (panels, 32), with -1 at the end; (panels, 32) stays."""
    if ids.ndim == 2:
        return np.ascontiguousarray(ids, np.int64)
    wide = np.full(round_up(max(len(ids), 1), PANEL), -1, np.int64)
    wide[: len(ids)] = ids
    return wide.reshape(-1, PANEL)
