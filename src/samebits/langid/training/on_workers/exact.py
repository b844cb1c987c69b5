"""Exact mode on workers: the cycles of ``training.exact``, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.known import score_rows
from samebits.kernels.langid.text.words import renumber
from samebits.langid.config import LangidConfig
from samebits.langid.model.model_files import write_head
from samebits.langid.training.exact import ExactScores, reasons_to_drop
from samebits.langid.training.on_workers.ledgers import RowState, notes_piece
from samebits.langid.training.on_workers.row_files import NodeRows
from samebits.langid.training.on_workers.training import WorkerTraining
from samebits.langid.training.on_workers.word_tables import words_by_partition
from samebits.langid.training.pairwise import mean_of, sums_of
from samebits.langid.training.report import add_confusion, confusion_told, report_of

__all__ = ["SCORE", "ScoreNode", "train_exact_on_workers"]

SCORE = "score"  # the stage


class ScoreState(NamedTuple):
    """The rows, and what each partition of the words says about the words of each node."""

    rows: RowState
    words: list[Index]


@dataclass(frozen=True, slots=True)
class ScoreNode:
    """The task: score the rows of a node by the dictionary, report on them, and note which to drop."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    config: LangidConfig
    cycle: int

    def __call__(self, shard: Shard, state: ScoreState, /) -> KeptPart:
        """Keep what the ledger is to be told; tell the confusion of the rows, their margins, and how many are dropped."""
        node, layout = shard.start, state.rows.layout
        rows = layout.read(self.folder, node)
        scorer = _Words.of(self.folder, node, rows, state.words, layout.partitions, len(layout.languages))
        every = scorer.score(rows.text.tokens, rows.text.stops)
        told = self._report(node, state.rows, rows, every, scorer)
        noted, removed = None, 0
        if self.cycle < self.config.cycles:
            ledger, _ = state.rows.ledger(self.folder, node, rows)
            kept = np.flatnonzero(~ledger.dropped)
            scores = every.at(kept)
            reasons = reasons_to_drop(scores, rows.labels[kept], self.config)
            out = np.flatnonzero(reasons)
            left, removed = scores.at(out), len(out)
            noted = notes_piece(
                kept[out],
                reasons[out],
                cycle=self.cycle,
                top=left.top,
                score=left.first,
                second=left.second,
                drop=True,
            )
        return kept_part(self.folder, self.stage, node, {**told, "removed": removed}, [noted])

    def _report(
        self, node: int, state: RowState, rows: NodeRows, every: ExactScores, scorer: _Words
    ) -> dict[str, Any]:
        """Look at the rows of the report as the reference does, cleaned twice."""
        layout = state.layout
        scores, kept = (
            ExactScores(every.top.copy(), every.first.copy(), every.second.copy()),
            rows.kept.copy(),
        )
        left = rows.changed[rows.changed_kept]  # in the order of changed_text
        kept[rows.changed] &= rows.changed_kept
        if len(left):
            again = scorer.score(rows.changed_text, rows.changed_stops)
            scores.top[left], scores.first[left], scores.second[left] = again
        looked = layout.reported(rows)
        seen = np.flatnonzero(kept[looked]) + looked.start
        found = ExactScores(scores.top[seen], scores.first[seen], scores.second[seen])
        return {
            "confusion": confusion_told(rows.labels[seen], found.top, len(layout.languages)),
            "margins": sums_of(found.margins, int(layout.first_seen[node]), int(layout.first_seen[-1])),
        }


class _Words(NamedTuple):
    """The dictionary of a node: its words in the order of their partitions, and their languages."""

    numbers: NDArray[np.uint32]
    stops: NDArray[np.int64]
    languages: NDArray[np.int32]
    num_languages: int

    @classmethod
    def of(
        cls,
        folder: PieceFolder,
        node: int,
        rows: NodeRows,
        files: list[Index],
        partitions: int,
        num_languages: int,
    ) -> _Words:
        order = np.concatenate(words_by_partition(rows.text, partitions))
        numbers = np.empty(len(order), np.uint32)
        numbers[order] = np.arange(len(order), dtype=np.uint32)
        found = list(folder.read_all(files, node))
        sizes = np.concatenate([np.empty(0, np.int64), *(piece[0] for piece in found)])
        speech = np.concatenate([np.empty(0, np.int32), *(piece[1].astype(np.int32) for piece in found)])
        return cls(numbers, np.cumsum(sizes, dtype=np.int64), speech, num_languages)

    def score(self, tokens: NDArray[np.uint32], stops: NDArray[np.int64]) -> ExactScores:
        """Score rows of tokens that are numbered as in the node."""
        ordered = np.empty(len(tokens), np.uint32)
        renumber(self.numbers, tokens, ordered)
        top, first, second, total = score_rows(ordered, stops, self.stops, self.languages, self.num_languages)
        divisor = np.maximum(total, 1)
        return ExactScores(top, first / divisor, second / divisor)


def train_exact_on_workers(training: WorkerTraining, out: ArtifactWriter) -> list[dict[str, Any]]:
    """Run the cycles and let workers write the model; return the reports."""
    config, layout = training.config, training.layout
    reports: list[dict[str, Any]] = []
    before = training.num_kept  # the reference counts these before it removes duplicates
    for cycle in range(1, config.cycles + 1):
        counted = training.count(cycle, once_per_row=True, answers=True)
        task = ScoreNode(training.folder, f"{SCORE} {cycle}", config, cycle)
        state = ScoreState(training.rows, counted.files)
        parts = training.map_nodes(task.stage, task, state, light=True)
        told = [part.told for part in parts]
        every = add_confusion([one["confusion"] for one in told], len(layout.languages))
        margin = mean_of([one["margins"] for one in told], int(layout.first_seen[-1]))
        report = report_of(every, margin, trained=counted.trained, languages=layout.languages)
        removed = sum(one["removed"] for one in told)
        training.note([part.pieces for part in parts])
        reports.append({"cycle": cycle, "samples": counted.num_kept, "removed": removed, **report})
        kept = counted.num_kept - removed
        if cycle < config.cycles and kept == before:
            break
        before = kept
    write_head(out, config.mode, layout.languages)
    training.write_words(counted, out)
    return reports
