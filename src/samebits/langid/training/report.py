"""What a cycle's dictionary is worth: accuracy, macro precision, recall and F1, confusion and margin.

The definitions are the reference's: accuracy over rows with a prediction, languages of the training rows only; confusion
of a pair is the share of their rows taken for the other, and the mean is over pairs that are confused at all. Where rows lie
with the workers, nodes tell confusion and margins of their own rows, and the driver adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.data.artifact import ArtifactWriter
from samebits.kernels.langid.confusion import confusion_table, pairwise_sum
from samebits.langid.constants import UNITS_PER_BIT
from samebits.langid.training.encode import narrow

__all__ = [
    "Confusion",
    "add_confusion",
    "bits_of",
    "confusion_of",
    "confusion_told",
    "make_report",
    "mean_bits",
    "report_of",
    "write_summary",
]

DENSE_CELLS = 1 << 22  # up to 2,048 languages a table is quicker than a sort


class Confusion(NamedTuple):
    """How many rows of language ``true`` were taken for ``predicted``: one entry per pair that occurs, sorted.

    ``predicted`` is the number of languages for rows without a prediction.
    """

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    rows: NDArray[np.int64]

    def among(self, chosen: NDArray[np.bool_]) -> Confusion:
        """Keep pairs of chosen languages only."""
        kept = chosen[self.true] & np.append(chosen, False)[self.predicted]
        return Confusion(self.true[kept], self.predicted[kept], self.rows[kept])


def confusion_of(labels: NDArray[np.int32], top: NDArray[np.int32], num_languages: int) -> Confusion:
    """Count all rows; a table of all pairs is made for few languages only: 10,000 would not allow one."""
    width = num_languages + 1
    if num_languages * width <= DENSE_CELLS:
        table = confusion_table(labels, top, num_languages).reshape(-1)
        pairs = np.flatnonzero(table)
        rows = table[pairs]
    else:
        flat = labels.astype(np.int64) * width + np.where(top < 0, num_languages, top)
        pairs, rows = np.unique(flat, return_counts=True)
    return Confusion(pairs // width, pairs % width, rows)


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
    every = confusion_of(labels, top, len(languages))
    margin = pairwise_sum(margins) / len(margins) if len(margins) else 0.0
    return report_of(every, margin, trained=trained, languages=languages)


def report_of(
    every: Confusion, margin: float, *, trained: NDArray[np.bool_], languages: list[str]
) -> dict[str, Any]:
    """Report on counted rows, given the mean of their margins; ``make_report`` counts them."""
    num = len(languages)
    table = every.among(trained)
    pairs = _pairs(table, _sums(every.true, every.rows, num), languages)
    on_diagonal = table.true == table.predicted
    right = _sums(table.true[on_diagonal], table.rows[on_diagonal], num)[trained]
    predicted = _sums(table.predicted, table.rows, num)[trained]
    true = _sums(table.true, table.rows, num)[trained]
    precision, recall = _shares(right, predicted), _shares(right, true)
    f1 = [2 * p * r / (p + r) if p + r > 0 else 0.0 for p, r in zip(precision, recall, strict=True)]
    total = int(table.rows.sum())
    return {
        "rows": int(every.rows.sum()),
        "accuracy": int(right.sum()) / total if total else 0.0,
        "precision": _mean(precision),
        "recall": _mean(recall),
        "f1": _mean(f1),
        "confusion": _mean([pair["score"] for pair in pairs]),
        "confusion_pairs": pairs,
        "confidence_margin": margin,
        "no_prediction": int(every.rows[every.predicted == num].sum()),
    }


def _sums(languages: NDArray[np.int64], rows: NDArray[np.int64], num: int) -> NDArray[np.int64]:
    """Add up rows by language; whole numbers below 2**53, so that the float sums of ``bincount`` are exact."""
    return np.bincount(languages, rows, num).astype(np.int64)


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


def write_summary(
    out: ArtifactWriter,
    *,
    rows: dict[str, Any],
    num_blank: int,
    eval_rows: int,
    num_cut: int,
    languages: int,
    words: int,
    reports: list[dict[str, Any]],
    share_kept: float,
) -> dict[str, Any]:
    """Write the report; return the metrics of the record."""
    summary = {
        "lines": {"read": out.bad_rows.num_read, "blank": num_blank, "bad": out.bad_rows.num_bad},
        "rows": rows,
        "eval_rows": eval_rows,
        "texts_cut": num_cut,
        "languages": languages,
        "words": words,
        "cycles": reports,
    }
    out.write_json("report.json", summary)
    brief = [{key: value for key, value in report.items() if key != "confusion_pairs"} for report in reports]
    return {**summary, "cycles": brief, "share_kept": round(share_kept, 4)}


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
