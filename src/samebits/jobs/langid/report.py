"""What a cycle's dictionary is worth: accuracy, macro precision, recall and F1, confusion and margin.

The definitions are the reference's: accuracy over rows with a prediction, languages of the training rows only; confusion
of a pair is the share of their rows taken for the other, and the mean is over pairs that are confused at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Confusion", "confusion_of", "make_report"]

DENSE_CELLS = 1 << 22  # up to 2,048 languages a table is quicker than a sort


class Confusion(NamedTuple):
    """How many rows of language ``true`` were taken for ``predicted``: one entry per pair that occurs, sorted."""

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    rows: NDArray[np.int64]

    def among(self, chosen: NDArray[np.bool_]) -> Confusion:
        """Keep pairs of chosen languages only."""
        kept = chosen[self.true] & chosen[self.predicted]
        return Confusion(self.true[kept], self.predicted[kept], self.rows[kept])


def confusion_of(labels: NDArray[np.int32], top: NDArray[np.int32], num_languages: int) -> Confusion:
    """Count over rows with a prediction; never a table of all pairs, which 10,000 languages would not allow."""
    seen = top >= 0
    flat = labels[seen].astype(np.int64) * num_languages + top[seen]
    if num_languages**2 <= DENSE_CELLS:
        table = np.bincount(flat, minlength=num_languages**2)
        pairs = np.flatnonzero(table)
        rows = table[pairs]
    else:
        pairs, rows = np.unique(flat, return_counts=True)
    return Confusion(pairs // num_languages, pairs % num_languages, rows)


def make_report(
    labels: NDArray[np.int32],
    top: NDArray[np.int32],
    margins: NDArray[np.float64],
    *,
    trained: NDArray[np.bool_],
    languages: list[str],
) -> dict[str, Any]:
    """Report on rows.

    Args:
        labels: True languages.
        top: Predicted ones, -1 for none.
        margins: Lead of the prediction over the runner-up, 1 without a prediction.
        trained: Which languages were trained.
        languages: Names of all.
    """
    num = len(languages)
    every = confusion_of(labels, top, num)
    pairs = _pairs(every.among(trained), np.bincount(labels, minlength=num), languages)
    table = every.among(trained)
    on_diagonal = table.true == table.predicted
    right = np.bincount(table.true[on_diagonal], table.rows[on_diagonal], num).astype(np.int64)[trained]
    predicted = np.bincount(table.predicted, table.rows, num).astype(np.int64)[trained]
    true = np.bincount(table.true, table.rows, num).astype(np.int64)[trained]
    precision, recall = _shares(right, predicted), _shares(right, true)
    f1 = [2 * p * r / (p + r) if p + r > 0 else 0.0 for p, r in zip(precision, recall, strict=True)]
    total = int(table.rows.sum())
    return {
        "rows": len(labels),
        "accuracy": int(right.sum()) / total if total else 0.0,
        "precision": _mean(precision),
        "recall": _mean(recall),
        "f1": _mean(f1),
        "confusion": _mean([pair["score"] for pair in pairs]),
        "confusion_pairs": pairs,
        "confidence_margin": float(margins.mean()) if len(margins) else 0.0,
        "no_prediction": int((top < 0).sum()),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> list[float]:
    return [a / b if b > 0 else 0.0 for a, b in zip(part.tolist(), whole.tolist(), strict=True)]


def _pairs(table: Confusion, rows_of: NDArray[np.int64], names: list[str]) -> list[dict[str, Any]]:
    both: dict[tuple[int, int], int] = {}
    for i, j, rows in zip(table.true.tolist(), table.predicted.tolist(), table.rows.tolist(), strict=True):
        if i != j:
            pair = (min(i, j), max(i, j))
            both[pair] = both.get(pair, 0) + rows
    return [
        {"langs": [names[i], names[j]], "score": rows / int(rows_of[i] + rows_of[j])}
        for (i, j), rows in sorted(both.items())
    ]
