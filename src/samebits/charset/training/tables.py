"""Counts of a language's text that add up: the parts of the counting stage and their fold.

A `PairTable` counts characters, pairs of characters and runs of text that is counted once for several
encodings; `DirectCounts` are byte pairs of texts that had to be encoded. Both hold integers only, keyed by code
points, so any grouping of shards folds to the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGE", "DirectCounts", "LanguageCounts", "PairTable", "sum_by_key"]

#: Stands beside the first and last character of a text; one above the last code point.
EDGE = 0x110000
_LOW = (1 << 21) - 1

Ints = NDArray[np.int64]


def sum_by_key(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Sorted distinct keys and the sums of their counts.

    >>> sum_by_key(np.array([7, 3, 7]), np.array([1, 1, 4]))
    (array([3, 7]), array([1, 5]))
    """
    if not len(keys):
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts, first)


@dataclass(frozen=True, slots=True)
class PairTable:
    """Counts of texts that share one per-character treatment.

    Attributes:
        projected: Encodings whose byte pairs follow from this table.
        measured: Encodings whose letters and dropped characters follow from this table.
        num_texts: Texts given.
        num_hard: Texts among them that are not in the pairs and runs because they are counted directly.
        pairs: ``left << 21 | right`` by code point, EDGE included; sorted.
        pair_counts: How often each pair occurs outside runs.
        runs: Distinct runs, sorted.
        triples: ``run << 42 | left << 21 | right``; sorted.
        triple_counts: How often each run stands between these two characters.
        hard_chars: Code points of texts that are counted directly.
        hard_counts: How often each of them occurs.
    """

    projected: tuple[str, ...]
    measured: tuple[str, ...]
    num_texts: int
    num_hard: int
    pairs: Ints
    pair_counts: Ints
    runs: tuple[str, ...]
    triples: Ints
    triple_counts: Ints
    hard_chars: Ints
    hard_counts: Ints

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Tables with equal keys may be added."""
        return self.projected, self.measured

    def chars(self) -> tuple[Ints, Ints]:
        """Code points in the table and how often they occur outside runs; direct texts not included."""
        left = self.pairs >> 21
        in_pairs = left != EDGE
        anchors = (self.triples >> 21) & _LOW
        anchored = anchors != EDGE
        return sum_by_key(
            np.concatenate([left[in_pairs], anchors[anchored]]),
            np.concatenate([self.pair_counts[in_pairs], self.triple_counts[anchored]]),
        )

    def run_counts(self) -> Ints:
        """How often each run occurs."""
        counts = np.zeros(len(self.runs), np.int64)
        np.add.at(counts, self.triples >> 42, self.triple_counts)
        return counts


def add_tables(tables: Sequence[PairTable]) -> PairTable:
    """Sum of tables with one key."""
    runs = tuple(sorted({run for table in tables for run in table.runs}))
    number = {run: i for i, run in enumerate(runs)}
    triples = [_renumber(table, number) for table in tables]
    pairs, pair_counts = sum_by_key(_joined(tables, "pairs"), _joined(tables, "pair_counts"))
    summed, triple_counts = sum_by_key(np.concatenate(triples), _joined(tables, "triple_counts"))
    hard_chars, hard_counts = sum_by_key(_joined(tables, "hard_chars"), _joined(tables, "hard_counts"))
    return PairTable(
        *tables[0].key,
        sum(table.num_texts for table in tables),
        sum(table.num_hard for table in tables),
        pairs,
        pair_counts,
        runs,
        summed,
        triple_counts,
        hard_chars,
        hard_counts,
    )


def _joined(tables: Sequence[PairTable], name: str) -> Ints:
    return np.concatenate([getattr(table, name) for table in tables])


def _renumber(table: PairTable, number: Mapping[str, int]) -> Ints:
    if not table.runs:
        return table.triples
    new = np.array([number[run] for run in table.runs], np.int64)
    renumbered: Ints = (new[table.triples >> 42] << 42) | (table.triples & ((1 << 42) - 1))
    return renumbered


@dataclass(frozen=True, slots=True)
class DirectCounts:
    """Byte pairs of encoded texts, and the letters of shaped ones.

    Attributes:
        samples: Texts that were long enough.
        num_bytes: Bytes of those texts.
        index: Byte pairs ``first * 256 + second`` that occur, ascending.
        counts: How often each occurs.
        letters_kept: Letters that survive, for shaped text (which no table measures).
        letters: All letters of shaped text.
        num_texts: Texts given, for shaped text.
    """

    samples: int
    num_bytes: int
    index: Ints
    counts: Ints
    letters_kept: int = 0
    letters: int = 0
    num_texts: int = 0

    def __add__(self, other: DirectCounts) -> DirectCounts:
        index, counts = sum_by_key(
            np.concatenate([self.index, other.index]), np.concatenate([self.counts, other.counts])
        )
        return DirectCounts(
            self.samples + other.samples,
            self.num_bytes + other.num_bytes,
            index,
            counts,
            self.letters_kept + other.letters_kept,
            self.letters + other.letters,
            self.num_texts + other.num_texts,
        )


class PlainCounts(TypedDict):
    """``LanguageCounts`` as plain data: a table and direct counts are lists of their fields, in order."""

    tables: list[list[Any]]
    direct: dict[str, list[Any]]
    failed: dict[str, str]


@dataclass(slots=True)
class LanguageCounts:
    """All counts of one language's text, or of a slice of it.

    Attributes:
        tables: Tables with distinct keys.
        direct: Byte pairs counted directly, by encoding.
        failed: Encodings whose recipe raised, and what it said.
    """

    tables: list[PairTable] = field(default_factory=list)
    direct: dict[str, DirectCounts] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def to_part(self) -> PlainCounts:
        """Plain data: what a task returns and the journal keeps."""
        return PlainCounts(
            tables=[[_plain(getattr(table, name)) for name in PairTable.__slots__] for table in self.tables],
            direct={
                encoding: [getattr(counts, name) for name in DirectCounts.__slots__]
                for encoding, counts in sorted(self.direct.items())
            },
            failed=dict(sorted(self.failed.items())),
        )

    @staticmethod
    def from_part(part: PlainCounts) -> LanguageCounts:
        """The inverse of `to_part`."""
        tables = [_table_of(row) for row in part["tables"]]
        direct = {encoding: DirectCounts(*row) for encoding, row in part["direct"].items()}
        return LanguageCounts(tables, direct, dict(part["failed"]))


def _table_of(row: Sequence[Any]) -> PairTable:
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
    return PairTable(*values)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def add_counts(slices: Sequence[LanguageCounts]) -> LanguageCounts:
    """Sum of the slices of one language, in their order."""
    out = LanguageCounts()
    by_key: dict[object, list[PairTable]] = {}
    for piece in slices:
        for table in piece.tables:
            by_key.setdefault(table.key, []).append(table)
        for encoding, counts in piece.direct.items():
            out.direct[encoding] = out.direct[encoding] + counts if encoding in out.direct else counts
        for encoding, reason in piece.failed.items():
            out.failed.setdefault(encoding, reason)
    out.tables = [tables[0] if len(tables) == 1 else add_tables(tables) for tables in by_key.values()]
    return out
