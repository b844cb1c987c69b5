"""Fold the parts of pass 1, in shard order, into one set of integer rows.

A word's number is its rank by first occurrence over all rows, whatever the cut, because shards are consecutive and each
shard's own words are in first-seen order. Beyond 64 MB token numbers go to a file and are mapped afterwards (``spill``), so
that only the vocabulary and a few numbers per row are in memory.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.errors import ConfigError, InputError
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.config import LangidConfig
from samebits.langid.training.encode import CleanedAgain, EncodedBlock, EncodeRows
from samebits.langid.training.spill import TokenSpill

__all__ = ["RowFolder", "Rows", "check_languages", "gather", "names_of", "no_rows", "only_empty_rows"]

MOST_LANGUAGES = 65_535  # a language is a 16-bit number in the model
SLACK = 1.05  # rows are not equally long
SPILL = "spill-tokens.u32"  # removed before the artifact is complete


@dataclass(slots=True)
class Rows:
    """All rows as integers. Training rows come first, then evaluation rows.

    Attributes:
        tokens: Word numbers of all rows; many are memory-mapped.
        spill: Where the tokens are.
        stops: Where each row's tokens end.
        labels: Number of each row's label in ``languages``.
        identities: 128-bit hash of each row's cleaned text, (rows, 2).
        kept: False for rows with nothing left after cleaning.
        sources: Source of each row, by number.
        lines: Line of each row in its source, from 0.
        sentence: Number of the sentence in its line.
        num_train: Rows for training.
        has_eval: Whether the others are evaluation rows; if not, training rows are reported on.
        languages: Names, sorted.
        words: Bytes of all words, one after another, and where each ends.
        share_kept: Of the texts' bytes, how many are words and a space behind each; 1 in exact mode.
    """

    tokens: NDArray[np.uint32]
    spill: TokenSpill
    stops: NDArray[np.int64]
    labels: NDArray[np.int32]
    identities: NDArray[np.uint64]
    kept: NDArray[np.bool_]
    sources: NDArray[np.int32]
    lines: NDArray[np.int64]
    sentence: NDArray[np.int64]
    num_train: int
    has_eval: bool
    languages: list[str]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    changed: dict[int, NDArray[np.uint32] | None]
    num_cut: int
    num_blank: int
    share_kept: float

    def drop_tokens(self) -> None:
        """Let go of the tokens, and of their file if there is one."""
        self.tokens = np.empty(0, np.uint32)
        self.spill.remove()

    @property
    def num_words(self) -> int:
        """Distinct words."""
        return len(self.word_stops)


class TokenSink(Protocol):
    """Where token numbers go."""

    def add(self, numbers: NDArray[np.uint32], tokens: NDArray[np.uint16] | NDArray[np.uint32], /) -> None:
        """Append ``numbers[tokens]``."""
        ...


class RowFolder:
    """What grows while parts come in."""

    def __init__(self, spill: TokenSink) -> None:
        self.spill = spill
        self.words = Vocabulary()
        self.labels = Vocabulary()
        self.columns: dict[str, list[NDArray[Any]]] = {
            name: [] for name in ("lengths", "labels", "hashes", "kept", "lines", "sentence")
        }
        self.sources: list[int] = []  # one for each block
        self.changed: dict[int, NDArray[np.uint32] | None] = {}
        self.num_rows = 0
        self.num_train = 0
        self.num_cut = 0
        self.num_blank = 0
        self.num_bytes = 0
        self.num_kept = 0

    def add(self, block: EncodedBlock, *, source: int, first_line: int, for_training: bool) -> None:
        """Add the rows of a block behind those of the blocks before it."""
        numbers = _add(self.words, block["words"], block["word_sizes"])
        self.spill.add(numbers, block["tokens"])
        if "again" in block:
            self.add_changed(block["again"])
        n = len(block["lengths"])
        label_numbers = _add(self.labels, block["label_names"], block["label_sizes"])
        new = {
            "lengths": block["lengths"],
            "labels": label_numbers[block["labels"]].astype(np.int32),
            "hashes": block["hashes"],
            "kept": block["kept"],
            "lines": block["lines"].astype(np.int64) + first_line,
            "sentence": block.get("sentence"),
        }
        for name, column in new.items():
            if column is not None:
                self.columns[name].append(column)
        self.sources.append(source)
        self.num_rows += n
        self.num_train += n if for_training else 0
        self.num_cut += block["num_cut"]
        self.num_bytes += block.get("num_bytes", 0)
        self.num_kept += block.get("num_kept", 0)

    def add_changed(self, again: CleanedAgain) -> None:
        """Add what cleaning twice leaves of rows of the next block."""
        numbers = _add(self.words, again["words"], again["word_sizes"])
        stops = np.cumsum(again["lengths"], dtype=np.int64)
        columns = zip(again["rows"].tolist(), again["kept"].tolist(), stops.tolist(), strict=True)
        start = 0
        for row, kept, stop in columns:
            self.changed[self.num_rows + row] = numbers[again["tokens"][start:stop]] if kept else None
            start = stop


def _add(vocabulary: Vocabulary, names: NDArray[np.uint8], sizes: NDArray[Any]) -> NDArray[np.uint32]:
    stops = np.cumsum(sizes, dtype=np.int64)
    return vocabulary.add(names, stops - sizes, stops)


def gather(plan: Plan, config: LangidConfig, engine: Engine, out: ArtifactWriter) -> Rows:
    """Run pass 1 and fold it.

    Raises:
        InputError: if there is no row to train on.
    """
    with closing(TokenSpill(out.path(SPILL))) as spill:
        folder = RowFolder(spill)
        lines_before: dict[int, int] = {}
        for shard, part in engine.map_ordered(
            "encode", EncodeRows(config), plan.shards, state=plan.inputs, unit="bytes"
        ):
            if shard.index == 0:
                in_part = sum(len(block["tokens"]) for block in part.blocks)
                spill.expect(int(SLACK * in_part * plan.shards.num_units / (shard.stop - shard.start)))
            out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
            for block in part.blocks:
                folder.add(
                    block,
                    source=shard.source,
                    first_line=lines_before.get(shard.source, 0),
                    for_training=shard.source < plan.inputs.num_train,
                )
            lines_before[shard.source] = lines_before.get(shard.source, 0) + part.num_lines
            folder.num_blank += part.num_blank
        out.bad_rows.check()
        return _finish(plan, folder, spill)


def _finish(plan: Plan, folder: RowFolder, spill: TokenSpill) -> Rows:
    if folder.num_train == 0:
        raise no_rows(plan)
    # There is at least one block: there are training rows.
    num_rows = [len(lengths) for lengths in folder.columns["lengths"]]
    column: dict[str, NDArray[Any]] = {
        name: np.concatenate(parts) for name, parts in folder.columns.items() if parts
    }
    if not column["kept"][: folder.num_train].any():
        raise only_empty_rows(plan, folder.num_train)
    names, labels = _sorted_labels(folder.labels, column["labels"])
    words, word_stops = folder.words.export()
    return Rows(
        tokens=spill.finish(),
        spill=spill,
        stops=np.cumsum(column["lengths"], dtype=np.int64),
        labels=labels,
        identities=column["hashes"],
        kept=column["kept"].view(bool),
        sources=np.repeat(np.array(folder.sources, np.int32), num_rows),
        lines=column["lines"],
        sentence=column["sentence"] if "sentence" in column else np.zeros(folder.num_rows, np.int64),
        num_train=folder.num_train,
        has_eval=plan.inputs.num_train < len(plan.source_names),
        languages=names,
        words=words,
        word_stops=word_stops,
        changed=folder.changed,
        num_cut=folder.num_cut,
        num_blank=folder.num_blank,
        share_kept=min(1.0, folder.num_kept / folder.num_bytes) if folder.num_bytes else 1.0,
    )


def _sorted_labels(labels: Vocabulary, numbers: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
    """Number the languages by their names' order, so that no number depends on the order of rows."""
    names = names_of(labels)
    check_languages(len(names))
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    return [names[i] for i in order], rank[numbers]


def names_of(labels: Vocabulary) -> list[str]:
    """Return strings by their numbers."""
    data, stops = labels.export()
    ends = stops.tolist()
    return [data[a:b].tobytes().decode() for a, b in zip([0, *ends], ends, strict=False)]


def check_languages(number: int) -> None:
    """Refuse more languages than a model has room for.

    Raises:
        ConfigError: if there are.
    """
    if number > MOST_LANGUAGES:
        raise ConfigError(
            f"{number} different labels, more than {MOST_LANGUAGES}", hint="is --lang-column right?"
        )


def no_rows(plan: Plan) -> InputError:
    """Say that the inputs hold no labelled row."""
    return InputError(
        "no labelled row to train on",
        path=", ".join(plan.source_names) or "inputs",
        hint="give rows with a text and a label; --text-column and --lang-column name them",
    )


def only_empty_rows(plan: Plan, number: int) -> InputError:
    """Say that cleaning leaves nothing of any row."""
    return InputError(
        f"nothing is left to train on: all {number:,} rows are empty after cleaning",
        path=", ".join(plan.source_names),
        hint="is --text-column right? Cleaning keeps letters of a known script, and digits beside them",
    )
