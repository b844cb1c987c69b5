"""Tasks over rows of integers: count words by language, and score rows by the dictionary.

They are cheap next to pass 1, so their parts are not journalled: a resumed run computes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Shard, ShardTable, cut
from samebits.core.ports.store import NoStore
from samebits.kernels.langid.dict import Dictionary, accumulate
from samebits.kernels.langid.known import score_rows

__all__ = [
    "ROWS_PER_SHARD",
    "TokenRows",
    "WordCounts",
    "count_words",
    "row_shards",
    "run_rows",
    "score_by_words",
]

Part = TypeVar("Part")
ROWS_PER_SHARD = 25_000  # 200,000 rows are 8 shards; with 13 counting and scoring took 29 ms of a run with two workers, with 8 20 ms


class TokenRows(NamedTuple):
    """Rows as word numbers; ``of`` cuts out a range with stops from 0."""

    tokens: NDArray[np.uint32]
    stops: NDArray[np.int64]

    def of(self, start: int, stop: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return tokens and stops of rows [start, stop)."""
        first = int(self.stops[start - 1]) if start else 0
        stops = self.stops[start:stop] - first
        return self.tokens[first : first + (int(stops[-1]) if len(stops) else 0)], stops


class WordCounts(NamedTuple):
    """For each word its languages, in order of first use, and how often: entries ``stops[w-1]:stops[w]``."""

    stops: NDArray[np.int64]
    languages: NDArray[np.int32]
    counts: NDArray[np.uint32]


def row_shards(num_rows: int) -> ShardTable:
    """Cut rows into shards, by number alone."""
    return cut([num_rows], ROWS_PER_SHARD)


def run_rows(
    engine: Engine, stage: str, task: Callable[[Shard, Any], Part], num_rows: int, state: Any
) -> Iterator[Part]:
    """Yield the parts of a stage over rows, in order; nothing is journalled."""
    parts = _unstored(engine).map_ordered(stage, task, row_shards(num_rows), state=state, unit="rows")
    return (part for _, part in parts)


def _unstored(engine: Engine) -> Engine:
    return replace(engine, store=NoStore(), plan=None)


class WordsPart(NamedTuple):
    """The words that some rows hold, and their entries: languages and counts up to each word's stop."""

    words: NDArray[Any]
    stops: NDArray[np.int64]
    languages: NDArray[Any]
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True)
class CountWords:
    """Count (word, language) over some rows."""

    part_type: ClassVar = WordsPart
    num_words: int
    num_languages: int
    once_per_row: bool

    def __call__(self, shard: Shard, state: tuple[TokenRows, Any, Any], /) -> WordsPart:
        """Return the words present and their entries."""
        rows, labels, keep = state
        tokens, stops = rows.of(shard.start, shard.stop)
        found = accumulate(
            tokens,
            stops,
            labels[shard.start : shard.stop],
            keep[shard.start : shard.stop],
            self.num_words,
            self.num_languages,
            self.once_per_row,
        )
        return WordsPart(*found)


@dataclass(frozen=True, slots=True)
class FoldWords:
    """Adds the entries of parts up, word by word."""

    num_words: int

    def zero(self) -> Dictionary:
        """Return a dictionary without entries."""
        return Dictionary(self.num_words)

    def fold(self, acc: Dictionary, part: WordsPart, /) -> Dictionary:
        """Add one part."""
        acc.add(*part)
        return acc


def count_words(
    engine: Engine,
    stage: str,
    rows: TokenRows,
    labels: NDArray[np.int32],
    keep: NDArray[np.bool_],
    *,
    num_words: int,
    num_languages: int,
    once_per_row: bool,
) -> WordCounts:
    """Count words by language over the kept rows; folding in row order keeps the order of first use."""
    total = _unstored(engine).map_reduce(
        stage,
        CountWords(num_words, num_languages, once_per_row),
        row_shards(len(labels)),
        FoldWords(num_words),
        state=(rows, labels, keep.view(np.uint8)),
        unit="rows",
    )
    return WordCounts(*total.export())


class WordScores(NamedTuple):
    """For each row its top language, how many of its tokens that and the runner-up know, and all its tokens."""

    top: NDArray[np.int32]
    first: NDArray[Any]
    second: NDArray[Any]
    total: NDArray[Any]


@dataclass(frozen=True, slots=True)
class ScoreWords:
    """Score some rows by the dictionary."""

    part_type: ClassVar = WordScores
    num_languages: int

    def __call__(self, shard: Shard, state: tuple[TokenRows, WordCounts], /) -> WordScores:
        """Return top language, its tokens, the runner-up's tokens, all tokens."""
        rows, words = state
        tokens, stops = rows.of(shard.start, shard.stop)
        return WordScores(*score_rows(tokens, stops, words.stops, words.languages, self.num_languages))


def score_by_words(
    engine: Engine, stage: str, rows: TokenRows, words: WordCounts, num_languages: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return for each row its top language (-1: none), its score and the runner-up's, as the reference divides them."""
    num_rows = len(rows.stops)
    top, first, second = np.empty(num_rows, np.int32), np.empty(num_rows), np.empty(num_rows)
    start = 0
    for tops, firsts, seconds, totals in run_rows(
        engine, stage, ScoreWords(num_languages), num_rows, (rows, words)
    ):
        stop = start + len(tops)
        divisor = np.maximum(totals, 1)
        top[start:stop] = tops
        # c1/n - c2/n and (c1-c2)/n differ in the last bit; the reference divides each.
        np.divide(firsts, divisor, out=first[start:stop])
        np.divide(seconds, divisor, out=second[start:stop])
        start = stop
    return top, first, second
