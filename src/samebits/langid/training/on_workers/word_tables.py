"""Words by language, counted by nodes and added up by partitions of the words.

count          a node counts the words of its rows and cuts them by their hash
count reduce   a partition adds up its words in node order: so each has the place of its first occurrence, and its
languages are in order of first use, as if all rows had been read one after the other
words          a node puts the words that occur in it first in their order, from all partitions: the model's tables are
what the nodes give, one after the other
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.dict import Dictionary, accumulate
from samebits.kernels.langid.text.words import Vocabulary, copy_ranges, partitions_of
from samebits.langid.training.encode import narrow
from samebits.langid.training.large import MODEL_ARRAYS
from samebits.langid.training.on_workers.ledgers import RowState
from samebits.langid.training.on_workers.row_files import TextRows, partition_ranges

__all__ = ["CountNodeWords", "OrderWords", "ReduceWords", "WordFiles", "take_ranges"]


def take_ranges(
    data: NDArray[Any], stops: NDArray[np.int64], chosen: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return ``data[stops[i-1]:stops[i]]`` for each chosen i, one after the other, and their sizes.

    >>> take_ranges(np.array([7, 8, 9]), np.array([1, 3]), np.array([1, 0]))
    (array([8, 9, 7]), array([2, 1]))
    """
    plain = np.ascontiguousarray(data)
    found, sizes = copy_ranges(
        plain.view(np.uint8), stops, chosen.astype(np.int64, copy=False), plain.itemsize
    )
    return found.view(data.dtype), sizes


def words_by_partition(text: TextRows, partitions: int) -> list[NDArray[np.int64]]:
    """Return which words of a node fall into each partition, in their order."""
    return partition_ranges(partitions_of(text.words, text.word_stops, partitions), partitions)


@dataclass(frozen=True, slots=True)
class CountNodeWords:
    """The task: count (word, language) over the kept rows of a node."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    once_per_row: bool

    def __call__(self, shard: Shard, state: RowState, /) -> KeptPart:
        """Keep a piece for each partition; tell how many rows are kept, their languages, and those of all rows."""
        node, layout = shard.start, state.layout
        rows = layout.read(self.folder, node)
        ledger, _ = state.ledger(self.folder, node, rows)
        text, labels, keep = rows.text, rows.labels[: rows.num_train], ~ledger.dropped
        num_words, num_languages = len(text.word_stops), len(layout.languages)
        present, ends, languages, counts = accumulate(
            text.tokens,
            text.stops[: rows.num_train],
            labels,
            keep.view(np.uint8),
            num_words,
            num_languages,
            self.once_per_row,
        )
        sizes = np.zeros(num_words, np.int64)
        sizes[present] = np.diff(ends, prepend=0)
        stops = np.cumsum(sizes)
        pieces: list[Any] = []
        for chosen in words_by_partition(text, layout.partitions):
            words, word_sizes = take_ranges(text.words, text.word_stops, chosen)
            speech, entry_sizes = take_ranges(languages, stops, chosen)
            times, _ = take_ranges(counts, stops, chosen)
            piece = [chosen, word_sizes, entry_sizes, speech, times]
            pieces.append([words, *map(narrow, piece)] if len(chosen) else None)
        told = {
            "num_kept": int(keep.sum()),
            "trained": np.unique(labels[keep]),
            "labels": np.unique(labels),
        }
        return kept_part(self.folder, self.stage, node, told, pieces)


class WordFiles(NamedTuple):
    """Pieces of counted words: a file of each node (``nodes``), or of each partition."""

    nodes: int
    files: list[Index]


@dataclass(frozen=True, slots=True)
class ReduceWords:
    """The task: add up one partition. For each node it keeps what is known of its words, and which of them are new.

    Attributes:
        answers: Whether nodes will ask for the languages of their words.
        partitions: How many partitions of words there are, if their n-grams are wanted too; else 0.
    """

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    answers: bool
    partitions: int = 0

    def __call__(self, shard: Shard, state: list[Index], /) -> KeptPart:
        """Keep a piece of answers for each node, then one of new words for each, then n-grams; tell how many words there are."""
        vocabulary, partition = Vocabulary(), shard.start
        pieces = [self.folder.read(index, partition) for index in state]
        numbers: list[NDArray[np.uint32]] = []
        known = [0]
        for piece in pieces:
            if piece is None:
                numbers.append(np.empty(0, np.uint32))
            else:
                stops = np.cumsum(piece[2], dtype=np.int64)
                numbers.append(vocabulary.add(piece[0], stops - piece[2], stops))
            known.append(len(vocabulary))
        total = Dictionary(len(vocabulary))
        for own, piece in zip(numbers, pieces, strict=True):
            if piece is not None:
                entries = (np.cumsum(piece[3], dtype=np.int64), *_entries(piece))
                total.add(own, *entries)
        stops, languages, counts = total.export()
        asked = [_answers(own, stops, languages) if self.answers else None for own in numbers]
        words = (*vocabulary.export(), stops, languages, counts)
        new = [
            _new_words(own, piece, before, words)
            for own, piece, before in zip(numbers, pieces, known, strict=False)
        ]
        more: list[Any] = []
        if self.partitions:
            from samebits.langid.training.on_workers.ngrams import feature_pieces

            more = feature_pieces(*words, partitions=self.partitions)
        return kept_part(self.folder, self.stage, partition, len(vocabulary), [*asked, *new, *more])


def _entries(piece: list[NDArray[Any]]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    return piece[4].astype(np.int32), piece[5].astype(np.uint32)


def _answers(numbers: NDArray[np.uint32], stops: NDArray[np.int64], languages: NDArray[np.int32]) -> Any:
    """Return the languages of some words."""
    if not len(numbers):
        return None
    found, sizes = take_ranges(languages, stops, numbers)
    return [narrow(sizes), narrow(found)]


def _new_words(numbers: NDArray[np.uint32], piece: Any, known: int, words: tuple[Any, ...]) -> Any:
    """Return the words that a node is the first to have, if any row that counts has them: their places in the node first."""
    data, word_stops, stops, languages, counts = words
    if piece is None:
        return None
    new = np.flatnonzero(numbers >= known)
    used = new[np.diff(stops, prepend=0)[numbers[new]] > 0]
    if not len(used):
        return None
    own = numbers[used]
    text, sizes = take_ranges(data, word_stops, own)
    speech, entry_sizes = take_ranges(languages, stops, own)
    times, _ = take_ranges(counts, stops, own)
    return [text, *map(narrow, (piece[1][used], sizes, entry_sizes, speech, times))]


@dataclass(frozen=True, slots=True)
class OrderWords:
    """The task: the words that a node is the first to have, from all partitions, in order; one raw piece for each table."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str

    def __call__(self, shard: Shard, state: WordFiles, /) -> KeptPart:
        """Keep the node's share of the model's tables; tell how many words and entries it has."""
        node = shard.start
        found = list(self.folder.read_all(state.files, state.nodes + node))
        if not found:
            return kept_part(self.folder, self.stage, node, [0, 0, 0], [])
        words, places, sizes, entry_sizes, languages, counts = (
            np.concatenate(column) for column in zip(*found, strict=True)
        )
        order = np.argsort(places)
        data, ordered = take_ranges(words, np.cumsum(sizes, dtype=np.int64), order)
        stops = np.cumsum(entry_sizes, dtype=np.int64)
        speech, per_word = take_ranges(languages, stops, order)
        times, _ = take_ranges(counts, stops, order)
        tables = (data, ordered, per_word, speech, times)
        raw = [
            memoryview(table.astype(kind).tobytes())
            for (_, kind), table in zip(MODEL_ARRAYS, tables, strict=True)
        ]
        return kept_part(self.folder, self.stage, node, [len(data), len(order), len(speech)], raw)
