"""Backoff mode on workers: the cycles of ``training.backoff``, node by node.

The model is in every process that scores by it, rows and words are not, and none of them in the driver of other processes. Refinement looks at a
sample of rows that does not grow with the input: one worker does it, or the threads of this process as for small inputs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from samebits.core.engine import Engine
from samebits.core.plan import Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.score import Scorer
from samebits.kernels.langid.suspects.leave_one_out import leave_one_out
from samebits.kernels.langid.suspects.own_counts import OwnCounts
from samebits.langid.config import LangidConfig
from samebits.langid.constants import CONSTANTS, UNITS_PER_BIT
from samebits.langid.model.features import Features
from samebits.langid.model.model_files import write_floors, write_head
from samebits.langid.training.backoff import (
    REFINE_ROWS,
    RefineSample,
    WordBytes,
    by_label,
    can_refine,
    refine,
    top_two,
)
from samebits.langid.training.ledger import SUSPECT
from samebits.langid.training.on_workers.ledgers import RowState, notes_piece
from samebits.langid.training.on_workers.ngrams import FeatureTables, sum_features
from samebits.langid.training.on_workers.row_files import NodeLayout
from samebits.langid.training.on_workers.sampling import keep_sample, read_sample
from samebits.langid.training.on_workers.training import CountedWords, WorkerTraining
from samebits.langid.training.report import add_confusion, bits_of, confusion_told, mean_bits, report_of
from samebits.langid.training.tasks import TokenRows

__all__ = ["FindSuspects", "RefineModel", "ReportNode", "train_backoff_on_workers"]

REFINE = "refine"  # the stage


class KeptModel:
    """The features of a model and what is made of them, each made once in a process. Pickled, it is where they lie.

    State, under ``_lock``: ``_features``, ``_scorer`` and ``_own_counts``, None until asked for.
    """

    def __init__(self, folder: PieceFolder, tables: FeatureTables, features: Features | None = None) -> None:
        self.folder, self.tables = folder, tables
        self._lock = threading.Lock()
        self._features = features
        self._scorer: Scorer | None = None
        self._own_counts: OwnCounts | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptModel, (self.folder, self.tables)

    def features(self) -> Features:
        """Return the features.

        Raises:
            PieceLost: a file is not there, or not what was written.
        """
        with self._lock:
            return self._read()

    def scorer(self) -> Scorer:
        """Return the look-up tables; as ``features``."""
        with self._lock:
            if self._scorer is None:
                self._scorer = self._read().scorer()
            return self._scorer

    def own_counts(self) -> OwnCounts:
        """Return the tables with which rows are scored without themselves; as ``features``."""
        with self._lock:
            if self._own_counts is None:
                features = self._read()
                self._own_counts = OwnCounts(features.scorer(finds=False), features.counts, CONSTANTS)
            return self._own_counts

    def forget_own_counts(self) -> None:
        """Let go of what one stage alone needs."""
        with self._lock:
            self._own_counts = None

    def refined(self, values: Index, features: Features | None = None) -> KeptModel:
        """Return the model with the values of a file, which are those of ``features`` if they are in this process."""
        return KeptModel(self.folder, self.tables._replace(refined=values), features)

    def _read(self) -> Features:
        if self._features is None:
            self._features = self.tables.read(self.folder)
        return self._features


class SuspectState(NamedTuple):
    """The rows, and the model."""

    rows: RowState
    model: KeptModel


@dataclass(frozen=True, slots=True)
class FindSuspects:
    """The task: rows of a node whose label is far behind, their own counts taken out."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    config: LangidConfig
    cycle: int

    def __call__(self, shard: Shard, state: SuspectState, /) -> KeptPart:
        """Keep what the ledger is to be told; tell how many they are."""
        node, config = shard.start, self.config
        rows = state.rows.layout.read(self.folder, node)
        ledger, _ = state.rows.ledger(self.folder, node, rows)
        text, labels = rows.train, rows.labels[: rows.num_train]
        order, units = by_label(labels, ledger.dropped), config.drop_bits * UNITS_PER_BIT
        top, lead = leave_one_out(
            state.model.own_counts(),
            text.tokens,
            text.stops,
            text.words,
            text.word_stops,
            labels,
            order,
            units,
        )
        far = np.flatnonzero(lead > units)
        far = far[np.argsort(order[far])]
        found, top, lead = order[far], top[far], lead[far]
        noted = notes_piece(
            found,
            np.full(len(found), SUSPECT, np.uint8),
            cycle=self.cycle,
            top=top,
            score=lead / UNITS_PER_BIT,
            second=np.zeros(len(found)),
            drop=self.cycle < config.cycles,
        )
        return kept_part(self.folder, self.stage, node, len(found), [noted])


@dataclass(frozen=True, slots=True)
class ReportNode:
    """The task: what a model makes of the rows of a node that reports look at."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str

    def __call__(self, shard: Shard, state: tuple[NodeLayout, KeptModel], /) -> KeptPart:
        """Tell confusion and leads."""
        layout, model = state
        rows, num = layout.read(self.folder, shard.start), len(layout.languages)
        looked = layout.reported(rows)
        text, kept = rows.of(looked.start, looked.stop), rows.kept[looked]
        told: list[Any] = [[], 0]
        if len(kept):
            words = WordBytes(text.words, text.word_stops)
            top, _, lead = top_two(model.scorer(), (text.tokens, text.stops), words, num)
            labels = rows.labels[looked][kept]
            told = [confusion_told(labels, top[kept], num), bits_of(top[kept], lead[kept])]
        return kept_part(self.folder, self.stage, shard.start, told, [])


class RefineState(NamedTuple):
    """The model, and the rows to refine it on: where they lie, and how many they stand for."""

    model: KeptModel
    sample: list[Index]
    num_rows: int


@dataclass(frozen=True, slots=True)
class RefineModel:
    """The task: refine the model. There is one, and it keeps the values."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    passes: int

    def __call__(self, shard: Shard, state: RefineState, /) -> KeptPart:
        """Refine in this process alone."""
        features = _refined(state, self.passes, None)
        return kept_part(self.folder, REFINE, shard.index, None, _values_piece(features))


def train_backoff_on_workers(training: WorkerTraining, out: ArtifactWriter) -> list[dict[str, Any]]:
    """Run the cycles and write the model; return the reports."""
    config, languages = training.config, training.layout.languages
    reports: list[dict[str, Any]] = []
    for cycle in range(1, config.cycles + 1):
        last = cycle == config.cycles
        counted = training.count(cycle, once_per_row=False, ngrams=True)
        tables = sum_features(training, counted)
        model = KeptModel(training.folder, tables)
        suspects = _note_suspects(training, model, cycle)
        if last and can_refine(config, len(languages), tables.num_features):
            model = _refine(training, model, counted.num_kept - suspects)
        report = _report(training, model, counted, cycle)
        rows = {"samples": counted.num_kept, "removed": 0 if last else suspects, "suspects": suspects}
        reports.append({"cycle": cycle, **rows, **report})
    write_head(out, config.mode, languages)
    write_floors(out, model.tables.floors)
    training.write_words(counted, out, model.tables.contents())
    return reports


def _note_suspects(training: WorkerTraining, model: KeptModel, cycle: int) -> int:
    task = FindSuspects(training.folder, f"suspects {cycle}", training.config, cycle)
    parts = training.map_nodes(task.stage, task, SuspectState(training.rows, model))
    model.forget_own_counts()
    training.note([part.pieces for part in parts])
    return sum(part.told for part in parts)


def _refine(training: WorkerTraining, model: KeptModel, number: int) -> KeptModel:
    state = RefineState(model, keep_sample(training, number, REFINE_ROWS), number)
    passes = training.config.refine
    if not training.engine.tasks_here:
        (part,) = training.map_parts(REFINE, RefineModel(training.folder, passes), 1, state, unit="models")
        return model.refined(part.pieces)
    features = _refined(state, passes, training.engine)
    return model.refined(training.folder.write(REFINE, _values_piece(features))[0], features)


def _refined(state: RefineState, passes: int, engine: Engine | None) -> Features:
    text, labels = read_sample(state.model.folder, state.sample, REFINE_ROWS)
    rows, words = TokenRows(text.tokens, text.stops), WordBytes(text.words, text.word_stops)
    return refine(engine, RefineSample(rows, words, labels, state.num_rows), state.model.features(), passes)


def _values_piece(features: Features) -> list[memoryview]:
    return [memoryview(features.values.tobytes())]


def _report(training: WorkerTraining, model: KeptModel, counted: CountedWords, cycle: int) -> dict[str, Any]:
    layout = training.layout
    task = ReportNode(training.folder, f"report {cycle}")
    parts = training.map_nodes(task.stage, task, (layout, model), light=True)
    told = [part.told for part in parts if part.told[0]]
    every = add_confusion([confusion for confusion, _ in told], len(layout.languages))
    margin = mean_bits([bits for _, bits in told], int(layout.first_seen[-1]))
    return report_of(every, margin, trained=counted.trained, languages=layout.languages)
