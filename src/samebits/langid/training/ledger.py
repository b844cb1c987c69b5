"""The ledger: every row that training left out, with the cycle, the reason and the scores. Nothing is lost silently.

Reasons, the first that applies: ``empty`` (nothing left after cleaning), ``duplicate`` (``of`` is the row kept, and
``conflict`` says that their labels differ), ``label_mismatch`` (the model's top language is another, or none),
``low_confidence``, ``small_margin``. Backoff mode also lists ``suspect`` rows, whose label is far behind, and drops them
only between cycles. ``kept + dropped = read`` always holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.data.table import write_table
from samebits.langid.training.gather import Rows

__all__ = ["REASONS", "Ledger", "RowPlaces"]

REASONS = ("kept", "empty", "duplicate", "label_mismatch", "low_confidence", "small_margin", "suspect")
EMPTY, DUPLICATE, MISMATCH, LOW, SMALL, SUSPECT = range(1, 7)


class RowPlaces(NamedTuple):
    """Where rows are: number of the source, line in it, sentence in the line, all from 0."""

    sources: NDArray[np.int32]
    lines: NDArray[np.int64]
    sentence: NDArray[np.int64]


@dataclass(slots=True)
class Ledger:
    """Why each training row was left out: arrays by row, 0 for rows that are kept."""

    num_rows: int
    reason: NDArray[np.uint8] = field(init=False)
    cycle: NDArray[np.int32] = field(init=False)
    top: NDArray[np.int32] = field(init=False)
    score: NDArray[np.float64] = field(init=False)
    second: NDArray[np.float64] = field(init=False)
    of: NDArray[np.int64] = field(init=False)
    dropped: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.reason = np.zeros(self.num_rows, np.uint8)
        self.cycle = np.zeros(self.num_rows, np.int32)
        self.top = np.full(self.num_rows, -1, np.int32)
        self.score = np.zeros(self.num_rows)
        self.second = np.zeros(self.num_rows)
        self.of = np.full(self.num_rows, -1, np.int64)
        self.dropped = np.zeros(self.num_rows, bool)

    def drop_empty(self, kept: NDArray[np.bool_]) -> None:
        """Leave out rows with nothing in them."""
        self.reason[~kept] = EMPTY
        self.dropped[~kept] = True

    def drop_duplicates(self, first: NDArray[np.int64]) -> None:
        """Leave out rows whose text is that of an earlier row (``first`` is that row, itself, or -1)."""
        again = np.flatnonzero((first >= 0) & (first != np.arange(len(first))))
        self.note_duplicates(again, first[again])

    def note_duplicates(self, rows: NDArray[np.int64], of: NDArray[np.int64]) -> None:
        """Leave out rows that repeat others."""
        self.reason[rows] = DUPLICATE
        self.cycle[rows] = 1
        self.of[rows] = of
        self.dropped[rows] = True

    def note(
        self,
        rows: NDArray[np.int64],
        reasons: NDArray[np.uint8],
        *,
        cycle: int,
        top: NDArray[np.int32],
        score: NDArray[np.float64],
        second: NDArray[np.float64],
        drop: bool,
    ) -> None:
        """Write down rows with their scores; ``drop`` is False for suspects that stay."""
        self.reason[rows] = reasons
        self.cycle[rows] = cycle
        self.top[rows], self.score[rows], self.second[rows] = top, score, second
        self.dropped[rows] = drop

    def counts(self) -> dict[str, Any]:
        """How the rows add up."""
        dropped = np.bincount(self.reason[self.dropped], minlength=len(REASONS))
        stayed = int(((self.reason == SUSPECT) & ~self.dropped).sum())
        return {
            "read": self.num_rows,
            "kept": int((~self.dropped).sum()),
            "dropped": int(self.dropped.sum()),
            "by_reason": {REASONS[i]: int(dropped[i]) for i in range(1, len(REASONS)) if dropped[i]},
            "suspects_kept": stayed,
        }

    def write(
        self,
        out: ArtifactWriter,
        name: str,
        rows: Rows,
        plan: Plan,
        labels: NDArray[np.int32],
        texts: list[str] | None,
    ) -> None:
        """Write one line per row that was left out or is suspect, in row order."""
        listed = np.flatnonzero(self.reason)
        of = self.of[listed]
        conflict = (of >= 0) & (labels[listed] != labels[np.maximum(of, 0)])
        places = RowPlaces(rows.sources[listed], rows.lines[listed], rows.sentence[listed])
        columns = self.columns(listed, places, labels, conflict, rows.languages, plan.source_names)
        if texts is not None:
            columns["text"] = texts
        write_table(out, name, columns)

    def columns(
        self,
        listed: NDArray[np.int64],
        places: RowPlaces,
        labels: NDArray[np.int32],
        conflict: NDArray[np.bool_],
        languages: list[str],
        source_names: Sequence[str],
    ) -> dict[str, Any]:
        """Return the table of the listed rows; their places and conflicts are given, labels are those of all rows."""
        names = [*languages, None]
        return {
            "row": listed,
            "source": [source_names[i] for i in places.sources.tolist()],
            "line": places.lines + 1,
            "sentence": places.sentence,
            "cycle": self.cycle[listed],
            "reason": [REASONS[i] for i in self.reason[listed].tolist()],
            "dropped": self.dropped[listed],
            "label": [names[i] for i in labels[listed].tolist()],
            "top": [names[i] for i in self.top[listed].tolist()],
            "score": self.score[listed],
            "second": self.second[listed],
            "of": [i if i >= 0 else None for i in self.of[listed].tolist()],
            "conflict": conflict,
        }
