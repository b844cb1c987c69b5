"""Exact mode's cycles: the dictionary, the reports and the rows kept of vocabulous 0.1.3, from integers only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.kernels.langid.dict import first_rows
from samebits.langid.config import LangidConfig
from samebits.langid.training.gather import Rows
from samebits.langid.training.ledger import LOW, MISMATCH, SMALL, Ledger
from samebits.langid.training.report import make_report
from samebits.langid.training.tasks import TokenRows, WordCounts, count_words, score_by_words

__all__ = ["ExactResult", "ExactScores", "reasons_to_drop", "train_exact"]


class ExactResult(NamedTuple):
    """What training gives: the dictionary, one report per cycle, and the last scores of the kept rows."""

    words: WordCounts
    reports: list[dict[str, Any]]
    kept: NDArray[np.int64]
    top: NDArray[np.int32]
    score: NDArray[np.float64]
    second: NDArray[np.float64]


class ExactScores(NamedTuple):
    """For each row its top language (-1: none), the share of its words that this one knows, and the runner-up's."""

    top: NDArray[np.int32]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    def at(self, rows: NDArray[Any]) -> ExactScores:
        """Take some rows, given by a mask or by their numbers in order; all of them are not copied."""
        number = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        if number == len(self.top):
            return self
        return ExactScores(self.top[rows], self.first[rows], self.second[rows])

    @property
    def margins(self) -> NDArray[np.float64]:
        """Lead over the runner-up, 1 without a top language."""
        margins = self.first - self.second
        margins[self.top < 0] = 1.0
        return margins


def train_exact(rows: Rows, config: LangidConfig, engine: Engine, ledger: Ledger) -> ExactResult:
    """Run the cycles; the ledger is told of every row left out."""
    n = rows.num_train
    labels = rows.labels[:n]
    train = TokenRows(rows.tokens, rows.stops[:n])
    reported = _ReportRows(rows)
    ledger.drop_empty(rows.kept[:n])
    ledger.drop_duplicates(first_rows(rows.identities[:n], rows.kept[:n].view(np.uint8)))
    reports: list[dict[str, Any]] = []
    before = int(rows.kept[:n].sum())  # the reference counts these before it removes duplicates
    for cycle in range(1, config.cycles + 1):
        keep = ~ledger.dropped
        words = count_words(
            engine,
            "count",
            train,
            labels,
            keep,
            num_words=rows.num_words,
            num_languages=len(rows.languages),
            once_per_row=True,
        )
        scores = ExactScores(*score_by_words(engine, "score", train, words, len(rows.languages)))
        kept = np.flatnonzero(keep)
        report = reported.report(
            engine, words, scores, np.bincount(labels[kept], minlength=len(rows.languages)) > 0
        )
        removed = 0
        if cycle < config.cycles:
            removed = _drop(ledger, cycle, kept, labels[kept], scores.at(kept), config)
        reports.append({"cycle": cycle, "samples": len(kept), "removed": removed, **report})
        kept = np.flatnonzero(~ledger.dropped)
        if cycle < config.cycles and len(kept) == before:
            break
        before = len(kept)
    last = scores.at(kept)
    return ExactResult(words, reports, kept, last.top, last.first, last.second)


def _drop(
    ledger: Ledger,
    cycle: int,
    kept: NDArray[np.int64],
    labels: NDArray[np.int32],
    scores: ExactScores,
    config: LangidConfig,
) -> int:
    reasons = reasons_to_drop(scores, labels, config)
    out = np.flatnonzero(reasons)
    left = scores.at(out)
    ledger.note(
        kept[out], reasons[out], cycle=cycle, top=left.top, score=left.first, second=left.second, drop=True
    )
    return len(out)


def reasons_to_drop(
    scores: ExactScores, labels: NDArray[np.int32], config: LangidConfig
) -> NDArray[np.uint8]:
    """Return why a row is to be dropped after a cycle, 0 for one that stays."""
    wrong = scores.top != labels
    low = scores.first < config.base_confidence
    small = ~(scores.first - scores.second > config.confidence_margin)
    return np.select([wrong, low, small], [MISMATCH, LOW, SMALL], 0).astype(np.uint8)


class _ReportRows:
    """The rows a report looks at: evaluation rows or all training rows, cleaned twice as the reference does.

    Cleaning twice changes few rows. When training rows are reported on, only the changed ones are scored once more.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.start = rows.num_train if rows.has_eval else 0
        self.kept = rows.kept[self.start :].copy()
        self.changed = [row for row in sorted(rows.changed) if row >= self.start and rows.kept[row]]
        for row in self.changed:
            self.kept[row - self.start] = rows.changed[row] is not None
        again = [found for row in self.changed if (found := rows.changed[row]) is not None]
        self.changed = [row for row in self.changed if rows.changed[row] is not None]
        self.again = TokenRows(
            np.concatenate(again) if again else np.empty(0, np.uint32),
            np.cumsum([len(tokens) for tokens in again], dtype=np.int64),
        )

    def report(
        self, engine: Engine, words: WordCounts, trained_scores: ExactScores, trained: NDArray[np.bool_]
    ) -> dict[str, Any]:
        rows, num = self.rows, len(self.rows.languages)
        scores = trained_scores
        if rows.has_eval:
            first = int(rows.stops[self.start - 1])
            evaluated = TokenRows(rows.tokens[first:], rows.stops[self.start :] - first)
            scores = ExactScores(*score_by_words(engine, "report", evaluated, words, num))
        if self.changed:
            scores = ExactScores(scores.top.copy(), scores.first.copy(), scores.second.copy())
            places = np.array(self.changed) - self.start
            scores.top[places], scores.first[places], scores.second[places] = score_by_words(
                engine, "report", self.again, words, num
            )
        seen = scores.at(self.kept)
        labels = rows.labels[self.start :]
        if len(seen.top) < len(labels):
            labels = labels[self.kept]
        return make_report(labels, seen.top, seen.margins, trained=trained, languages=rows.languages)
