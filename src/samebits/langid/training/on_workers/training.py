"""The driver of a training on workers: which stages there are, and what they are told. No row and no count passes here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.array_file import npy_header
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.output_file import Content, KeptBytes, write_output, write_outputs
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.shape import consecutive, row_starts
from samebits.data.folding.tree import Folding, KeptPart
from samebits.langid.config import LangidConfig
from samebits.langid.training.large import MODEL_ARRAYS, WRITE
from samebits.langid.training.ledger import REASONS
from samebits.langid.training.on_workers.duplicates import DUPLICATES, FindDuplicates
from samebits.langid.training.on_workers.encoded import EncodedNodes
from samebits.langid.training.on_workers.ledgers import LEDGER, LedgerState, RowState, WriteLedger
from samebits.langid.training.on_workers.word_tables import (
    CountNodeWords,
    OrderWords,
    ReduceWords,
    WordFiles,
)
from samebits.langid.training.tasks import WordCounts

__all__ = ["CountedWords", "WordModel", "WorkerTraining"]


NOTHING: Mapping[str, Content] = MappingProxyType({})


class CountedWords(NamedTuple):
    """Counted words, in partitions.

    Attributes:
        cycle: In which they were counted.
        files: Of the partitions.
        num_kept: Rows that count.
        trained: Which languages they have.
    """

    cycle: int
    files: list[Index]
    num_kept: int
    trained: NDArray[np.bool_]


class WordModel(NamedTuple):
    """All words that count in order of first occurrence, and their languages."""

    languages: list[str]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    counted: WordCounts


class WorkerTraining:
    """One training.

    Attributes:
        engine: Where tasks run.
        plan: What is trained on.
        config: How.
        layout: What the nodes are.
        rows: What is known of their rows so far.
        num_words: Different words, in rows that count and others; known when they are counted.
    """

    def __init__(
        self,
        workers: Folding,
        engine: Engine,
        plan: Plan,
        config: LangidConfig,
        encoded: EncodedNodes,
        files: list[Index],
    ) -> None:
        self.engine, self.plan, self.config = engine, plan, config
        self.encoded = encoded
        self.layout = encoded.layout(plan, files)
        self.num_words = 0
        self._labels = np.zeros(0, bool)
        self._workers = workers
        task = FindDuplicates(workers.folder, by_label=config.mode != "exact")
        duplicates = self.map_parts(DUPLICATES, task, self.layout.partitions, self.layout, unit="partitions")
        self.rows = RowState(self.layout, [part.pieces for part in duplicates], [])

    @property
    def folder(self) -> PieceFolder:
        """Where pieces are."""
        return self._workers.folder

    @property
    def num_kept(self) -> int:
        """Training rows of which cleaning leaves something."""
        return self.encoded.num_kept

    def map_parts(
        self, stage: str, task: Callable[[Shard, Any], KeptPart], number: int, state: Any, *, unit: str
    ) -> list[KeptPart]:
        """Run a task on each of so many things."""
        return [part for _, part in self._workers.map(stage, task, consecutive(number, 1), state, unit=unit)]

    def map_nodes(
        self, stage: str, task: Callable[[Shard, Any], KeptPart], state: Any, *, light: bool = False
    ) -> list[KeptPart]:
        """Run a task on each node; of a light one, done in no time, for several nodes at once where there are many."""
        number = len(self.layout.files)
        if light:
            return self._workers.map_light(stage, task, number, state, unit="nodes")
        return self.map_parts(stage, task, number, state, unit="nodes")

    def note(self, files: Sequence[Index]) -> None:
        """Take what a cycle has noted of each node's rows, for its ledger."""
        self.rows = self.rows._replace(notes=[*self.rows.notes, list(files)])

    def count(
        self, cycle: int, *, once_per_row: bool, answers: bool = False, ngrams: bool = False
    ) -> CountedWords:
        """Count the words of the rows that are kept; ``ReduceWords`` says what else is kept of them."""
        count = CountNodeWords(self.folder, f"count {cycle}", once_per_row)
        parts = self.map_nodes(count.stage, count, self.rows, light=True)
        partitions = self.layout.partitions
        reduce = ReduceWords(self.folder, f"count reduce {cycle}", answers, partitions if ngrams else 0)
        files = [part.pieces for part in parts]
        reduced = self.map_parts(reduce.stage, reduce, partitions, files, unit="partitions")
        self.num_words = sum(part.told for part in reduced)
        num_kept = sum(part.told["num_kept"] for part in parts)
        trained = _any_of(parts, "trained", len(self.layout.languages))
        self._labels = _any_of(parts, "labels", len(self.layout.languages))
        return CountedWords(cycle, [part.pieces for part in reduced], num_kept, trained)

    def has_rows(self, number: int) -> NDArray[np.bool_]:
        """Return which of so many languages any training row has, kept or not."""
        return np.append(self._labels, np.zeros(number - len(self._labels), bool))

    def _ordered(self, counted: CountedWords) -> list[KeptPart]:
        task = OrderWords(self.folder, f"words {counted.cycle}")
        nodes = len(self.layout.files)
        return self.map_nodes(task.stage, task, WordFiles(nodes, counted.files), light=True)

    def word_model(self, counted: CountedWords) -> WordModel:
        """Read all words into this process."""
        files = [part.pieces for part in self._ordered(counted) if part.pieces.sizes]
        tables = [
            np.frombuffer(b"".join(self.folder.read_bytes(index, table) for index in files), kind)
            for table, (_, kind) in enumerate(MODEL_ARRAYS)
        ]
        words, sizes, entry_sizes, languages, counts = tables
        entries = WordCounts(
            np.cumsum(entry_sizes, dtype=np.int64), languages.astype(np.int32), counts.astype(np.uint32)
        )
        return WordModel(self.layout.languages, words, np.cumsum(sizes, dtype=np.int64), entries)

    def write_words(
        self, counted: CountedWords, out: ArtifactWriter, more: Mapping[str, Content] = NOTHING
    ) -> None:
        """Let workers write the tables of the words, and further files."""
        parts = self._ordered(counted)
        num_bytes, num_words, num_entries = (sum(part.told[i] for part in parts) for i in range(3))
        lengths = (num_bytes, num_words, num_words, num_entries, num_entries)
        files = [part.pieces for part in parts if part.pieces.sizes]
        contents: dict[str, Content] = {
            name: KeptBytes.of(files, npy_header(kind, (lengths[table],)), [[table]] * len(files))
            for table, (name, kind) in enumerate(MODEL_ARRAYS)
        }
        write_outputs(self._workers, out, WRITE, {**contents, **more})

    def write_ledger(self, out: ArtifactWriter) -> dict[str, Any]:
        """Let workers write the ledger; return how the rows add up."""
        config, encoded = self.config, self.encoded
        task = WriteLedger(self.folder, config, self.plan.source_names)
        state = LedgerState(
            self.rows,
            self.plan.inputs,
            self.plan.shards,
            row_starts(self.plan.shards),
            np.array(encoded.first_line, np.int64),
        )
        parts = self.map_nodes(LEDGER, task, state, light=not config.ledger_text)
        if config.ledger != "none":
            write_output(self._workers, out, f"dropped.{config.ledger}", [part.pieces for part in parts])
        read = sum(part.told[0] for part in parts)
        by_reason = [sum(column) for column in zip(*(part.told[1] for part in parts), strict=True)]
        dropped = sum(by_reason)
        return {
            "read": read,
            "kept": read - dropped,
            "dropped": dropped,
            "by_reason": {REASONS[i]: by_reason[i] for i in range(1, len(REASONS)) if by_reason[i]},
            "suspects_kept": sum(part.told[2] for part in parts),
        }


def _any_of(parts: Sequence[KeptPart], name: str, number: int) -> NDArray[np.bool_]:
    """Return which of so many languages any part tells of."""
    found = np.zeros(number, bool)
    for part in parts:
        found[part.told[name]] = True
    return found
