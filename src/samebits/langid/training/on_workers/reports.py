"""What nodes find out about rows for a report, added up: confusion and margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.langid.constants import UNITS_PER_BIT
from samebits.langid.training.encode import narrow
from samebits.langid.training.report import Confusion, confusion_of

__all__ = ["add_confusion", "bits_of", "confusion_told", "mean_bits"]


def confusion_told(
    labels: NDArray[np.int32], top: NDArray[np.int32], num_languages: int
) -> list[NDArray[Any]]:
    """Return a node's confusion, to be told."""
    return [narrow(column) for column in confusion_of(labels, top, num_languages)]


def add_confusion(told: Sequence[Sequence[NDArray[Any]]], num_languages: int) -> Confusion:
    """Add up the confusion of all nodes."""
    width = num_languages + 1
    pairs = [true.astype(np.int64) * width + predicted.astype(np.int64) for true, predicted, _ in told]
    different, places = np.unique(np.concatenate([np.empty(0, np.int64), *pairs]), return_inverse=True)
    rows = np.zeros(len(different), np.int64)
    np.add.at(rows, places, np.concatenate([np.empty(0, np.int64), *(rows for _, _, rows in told)]))
    return Confusion(different // width, different % width, rows)


def bits_of(top: NDArray[np.int32], lead: NDArray[Any]) -> int:
    """Sum of the leads in 1/64 bit; one bit for a row without a prediction."""
    return int(np.where(top >= 0, lead, UNITS_PER_BIT).sum(dtype=np.int64))


def mean_bits(sums: Sequence[int], num_rows: int) -> float:
    """Return the mean of margins in bits: whole numbers of 1/64, so that a float holds their sum whatever the order."""
    return sum(sums) / UNITS_PER_BIT / num_rows if num_rows else 0.0
