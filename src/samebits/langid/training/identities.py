"""What rows are known by: a 128-bit hash of the cleaned text, and, where that matters, their label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["sample_rows", "with_labels"]


def with_labels(identities: NDArray[np.uint64], labels: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Equal texts with different labels are not duplicates here: which label is right, is for the counts to say."""
    mixed = identities.copy()
    mixed[:, 1] ^= (labels.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed


def sample_rows(identities: NDArray[np.uint64], usable: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return all usable rows, or those ``most`` with the lowest identities, which is no matter of their order."""
    rows = np.flatnonzero(usable)
    if len(rows) <= most:
        return rows
    order = np.lexsort((rows, identities[rows, 1], identities[rows, 0]))
    return np.sort(rows[order[:most]])
