"""Compact mode on workers: they count the words; n-grams follow from these, as for small inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from samebits.core.plan import Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.piece_files import PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.langid.constants import UNITS_PER_BIT
from samebits.langid.model.compact_files import CompactFiles, write_compact
from samebits.langid.training.compact.near_counts import check_sources, count_near
from samebits.langid.training.compact.train import (
    REPORT_ROWS,
    check_number,
    complete,
    draft,
    score_texts,
    texts_of,
    with_noise,
)
from samebits.langid.training.on_workers.row_files import NodeLayout
from samebits.langid.training.on_workers.sampling import take_sample
from samebits.langid.training.on_workers.training import CountedWords, WorkerTraining
from samebits.langid.training.on_workers.word_tables import take_ranges
from samebits.langid.training.report import (
    add_confusion,
    bits_of,
    confusion_told,
    make_report,
    mean_bits,
    report_of,
)
from samebits.langid.training.tasks import TokenRows
from samebits.machine.caps import give_back_freed_memory

__all__ = ["ReportTexts", "train_compact_on_workers"]


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """The task: what a compact model makes of the evaluation rows of a node."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str

    def __call__(self, shard: Shard, state: tuple[NodeLayout, CompactFiles], /) -> KeptPart:
        """Tell confusion and leads."""
        layout, files = state
        rows = layout.read(self.folder, shard.start)
        chosen = rows.num_train + np.flatnonzero(rows.kept[rows.num_train :])
        told: list[Any] = [[], 0]
        if len(chosen):
            tokens, lengths = take_ranges(rows.text.tokens, rows.text.stops, chosen)
            sample = TokenRows(tokens, np.cumsum(lengths))
            top, lead = score_texts(files, texts_of(sample, rows.text.words, rows.text.word_stops))
            told = [confusion_told(rows.labels[chosen], top, len(files.languages)), bits_of(top, lead)]
        return kept_part(self.folder, self.stage, shard.start, told, [])


def train_compact_on_workers(training: WorkerTraining, out: ArtifactWriter) -> list[dict[str, Any]]:
    """Train and write the model; return the report."""
    check_number(training.layout.languages)
    config, with_near = training.config, bool(training.config.source_column)
    if with_near:
        check_sources(training.plan, config)
    counted = training.count(1, once_per_row=False)
    model = training.word_model(counted)
    languages, vocabulary = with_noise(model, model.counted)
    del model  # the vocabulary holds all of it
    drafted = draft(training.engine, languages, vocabulary, config, with_near=with_near)
    del vocabulary  # before other words are counted
    give_back_freed_memory()
    near = count_near(training.plan, config, training.engine) if with_near else None
    files = complete(training.engine, drafted, near)
    del drafted, near
    write_compact(out, files)
    report = (
        _report_on_eval(training, files) if training.layout.has_eval else _report(training, counted, files)
    )
    samples = {"samples": counted.num_kept, "removed": 0, "suspects": 0}
    return [{"cycle": 1, **samples, **report}]


def _report(training: WorkerTraining, counted: CountedWords, files: CompactFiles) -> dict[str, Any]:
    """Report on a sample of the training rows."""
    text, labels = take_sample(training, counted.num_kept, REPORT_ROWS)
    column = texts_of(TokenRows(text.tokens, text.stops), text.words, text.word_stops)
    top, lead = score_texts(files, column)
    trained = training.has_rows(len(files.languages))
    return make_report(labels, top, lead / UNITS_PER_BIT, trained=trained, languages=files.languages)


def _report_on_eval(training: WorkerTraining, files: CompactFiles) -> dict[str, Any]:
    """Report on the evaluation rows."""
    layout = training.layout
    task = ReportTexts(training.folder, "report")
    told = [part.told for part in training.map_nodes(task.stage, task, (layout, files)) if part.told[0]]
    every = add_confusion([confusion for confusion, _ in told], len(files.languages))
    margin = mean_bits([bits for _, bits in told], int(layout.first_seen[-1]))
    return report_of(
        every, margin, trained=training.has_rows(len(files.languages)), languages=files.languages
    )
