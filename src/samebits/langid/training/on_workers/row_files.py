"""The rows of a node, as a worker keeps them: a file of pieces that later stages read, and no one else.

A node is a run of consecutive shards (``data.folding.shape``). Words and labels are numbered within it, in order of first
occurrence, and stay so: what all nodes agree on is told to tasks in a ``Layout``. Its pieces are
    ROWS        tokens, labels, words
    PLACES      line and sentence of each row, for the ledger; rows and lines of each shard
    HASHES      the rows' identities, where a sample of rows will be chosen by them
    FIRST + p   those of training rows whose identity falls into partition p: equal rows meet there
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.kernels.langid.text.words import renumber
from samebits.langid.config import LangidConfig
from samebits.langid.sources import Sources
from samebits.langid.training.encode import EncodeRows, narrow
from samebits.langid.training.gather import RowFolder, names_of

__all__ = [
    "FIRST",
    "HASHES",
    "PLACES",
    "EncodeNode",
    "NodeLayout",
    "NodeRows",
    "TextRows",
    "partition_ranges",
]

ROWS, PLACES, HASHES, FIRST = range(4)


class TextRows(NamedTuple):
    """Rows as numbers of words, with these words."""

    tokens: NDArray[np.uint32]
    stops: NDArray[np.int64]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]


class NodeRows(NamedTuple):
    """The rows of a node; training rows come first.

    Attributes:
        text: All rows.
        labels: Number of each row's language among all languages.
        kept: False for rows with nothing left after cleaning.
        num_train: Rows for training.
        changed: Rows that cleaning changes once more, by number; in exact mode alone.
        changed_kept: Whether anything is left of them.
        changed_text: Tokens of those of which something is left.
        changed_stops: Where each of these ends.
    """

    text: TextRows
    labels: NDArray[np.int32]
    kept: NDArray[np.bool_]
    num_train: int
    changed: NDArray[np.int64]
    changed_kept: NDArray[np.bool_]
    changed_text: NDArray[np.uint32]
    changed_stops: NDArray[np.int64]

    def of(self, start: int, stop: int) -> TextRows:
        """Return some consecutive rows."""
        stops = self.text.stops
        first = int(stops[start - 1]) if start else 0
        last = int(stops[stop - 1]) if stop else 0
        return self.text._replace(tokens=self.text.tokens[first:last], stops=stops[start:stop] - first)

    @property
    def train(self) -> TextRows:
        """The training rows."""
        return self.of(0, self.num_train)


class NodeLayout(NamedTuple):
    """What all nodes together are, for tasks that work on one of them.

    Attributes:
        files: The file of each node.
        languages: Names, sorted.
        label_ranks: For each node the number among all languages of each of its labels.
        first_row: Rows before each node, and at the end all rows.
        first_seen: Rows that reports look at before each node, and at the end all of them.
        has_eval: Whether reports look at the evaluation rows; if not, at the training rows.
        partitions: How many partitions keys have.
    """

    files: list[Index]
    languages: list[str]
    label_ranks: list[NDArray[np.int32]]
    first_row: NDArray[np.int64]
    first_seen: NDArray[np.int64]
    has_eval: bool
    partitions: int

    def read(self, folder: PieceFolder, node: int) -> NodeRows:
        """Read the rows of a node."""
        found = folder.read(self.files[node], ROWS)
        text = TextRows(
            found["tokens"].astype(np.uint32, copy=False),
            np.cumsum(found["lengths"], dtype=np.int64),
            found["words"],
            np.cumsum(found["word_sizes"], dtype=np.int64),
        )
        return NodeRows(
            text,
            self.label_ranks[node][found["labels"]],
            found["kept"].view(bool),
            found["num_train"],
            found["changed"],
            found["changed_kept"].view(bool),
            found["changed_tokens"],
            np.cumsum(found["changed_lengths"], dtype=np.int64),
        )

    def reported(self, rows: NodeRows) -> slice:
        """Return which rows of a node reports look at."""
        return slice(rows.num_train, len(rows.labels)) if self.has_eval else slice(0, rows.num_train)


class _Tokens:
    """Numbers in memory: those of one node."""

    def __init__(self) -> None:
        self.arrays = [np.empty(0, np.uint32)]

    def add(self, numbers: NDArray[np.uint32], tokens: NDArray[np.uint16] | NDArray[np.uint32], /) -> None:
        found = np.empty(len(tokens), np.uint32)
        renumber(numbers, tokens, found)
        self.arrays.append(found)


@dataclass(frozen=True, slots=True)
class EncodeNode:
    """The first stage: read, clean and number the rows of some shards."""

    config: LangidConfig
    partitions: int

    def count(self, shards: Sequence[Shard], state: Sources, /) -> tuple[list[Any], list[Any]]:
        """Tell of each shard what was read, and with the first one of the node; return its pieces."""
        tokens = _Tokens()
        folder, task = RowFolder(tokens), EncodeRows(self.config)
        told: list[dict[str, Any]] = []
        for shard in shards:
            part, before = task(shard, state), folder.num_rows
            for block in part.blocks:
                folder.add(
                    block, source=shard.source, first_line=0, for_training=shard.source < state.num_train
                )
            read = {"bad": part.bad, "num_lines": part.num_lines, "num_blank": part.num_blank}
            told.append({**read, "num_rows": folder.num_rows - before})
        columns = {name: _joined(parts) for name, parts in folder.columns.items()}
        words, word_stops = folder.words.export()
        kept, changed = columns["kept"].astype(np.uint8), _changed(folder)
        rows = {
            "tokens": np.concatenate(tokens.arrays).astype(np.min_scalar_type(max(256, len(word_stops)))),
            "lengths": columns["lengths"],
            "labels": narrow(columns["labels"]),
            "kept": kept,
            "words": words,
            "word_sizes": narrow(np.diff(word_stops, prepend=0)),
            "num_train": folder.num_train,
            **changed,
        }
        told[0]["node"] = {
            "labels": names_of(folder.labels),
            "num_train": folder.num_train,
            "num_kept": int(kept[: folder.num_train].sum()),
            "num_seen": _num_seen(
                kept, changed, folder.num_train, has_eval=state.num_train < len(state.corpus.sources)
            ),
            "texts": [folder.num_cut, folder.num_bytes, folder.num_kept],
        }
        shards_are = {f"shard_{name}": [one[f"num_{name}"] for one in told] for name in ("rows", "lines")}
        places = {"lines": narrow(columns["lines"]), "sentence": columns["sentence"], **shards_are}
        return told, [rows, places, *self._more_pieces(folder, columns, kept)]

    def together(self, before: dict[str, Any], after: dict[str, Any], /) -> dict[str, Any] | None:
        """Add up the numbers of two runs of shards without bad rows; the first run of a node tells of the node."""
        if before["bad"] or after["bad"]:
            return None
        return {**before, **{name: before[name] + after[name] for name in after if name != "bad"}}

    def _more_pieces(self, folder: RowFolder, columns: dict[str, NDArray[Any]], kept: Any) -> list[Any]:
        hashes, labels = columns["hashes"].reshape(-1, 2).astype(np.uint64), narrow(columns["labels"])
        alive = np.flatnonzero(kept[: folder.num_train])
        numbers = ((hashes[alive, 0] >> np.uint64(32)) * np.uint64(self.partitions)) >> np.uint64(32)
        pieces: list[Any] = []
        for chosen in partition_ranges(numbers, self.partitions):
            rows = alive[chosen]
            pieces.append([narrow(rows), hashes[rows], labels[rows]] if len(rows) else None)
        return [hashes if self.config.mode != "exact" else None, *pieces]


def partition_ranges(numbers: NDArray[Any], partitions: int) -> list[NDArray[np.int64]]:
    """Return for each partition which things fall into it, in their order.

    >>> partition_ranges(np.array([1, 0, 1]), 3)
    [array([1]), array([0, 2]), array([], dtype=int64)]
    """
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, partitions)))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _changed(folder: RowFolder) -> dict[str, NDArray[Any]]:
    """Return the rows that cleaning changes once more, as arrays."""
    rows = sorted(folder.changed)
    tokens = [found for row in rows if (found := folder.changed[row]) is not None]
    return {
        "changed": np.array(rows, np.int64),
        "changed_kept": np.array([folder.changed[row] is not None for row in rows], np.uint8),
        "changed_tokens": np.concatenate([np.empty(0, np.uint32), *tokens]),
        "changed_lengths": np.array([len(found) for found in tokens], np.int64),
    }


def _num_seen(kept: NDArray[np.uint8], changed: dict[str, Any], num_train: int, *, has_eval: bool) -> int:
    """How many rows a report looks at: of those it may, the ones of which cleaning twice leaves something."""
    seen = kept.copy()
    gone = changed["changed"][changed["changed_kept"] == 0]
    seen[gone] = 0
    return int((seen[num_train:] if has_eval else seen[:num_train]).sum())
