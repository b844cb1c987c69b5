"""What each n-gram and word adds to a text's log-probability in each language, in whole numbers of 1/1024 bit.

A language is a character model of order five with absolute discounting: ``P(letter | context) = (c - 3/4) / C + rest *
P(letter | shorter context)``. Its logarithm is a sum over the n-grams of a word that the language has: each adds what it
gains over its shorter n-gram, and as a context the logarithm of what it leaves to shorter ones. So scoring needs no
back-off logic, and an n-gram that was pruned simply adds nothing. A known word adds what its frequency gains over its
spelling. Fractions are of 2**31.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.features import log2_fixed
from samebits.kernels.langid.ngrams import FeatureIndex, sum_words
from samebits.kernels.langid.smoothing import gains_and_values
from samebits.langid.model.features import powers_of_two
from samebits.langid.training.compact.ngram_counts import (
    NgramCounts,
    NgramVocabulary,
    in_ranges,
    text_per_language,
)

__all__ = ["WORD", "Smoothed", "logs", "smooth"]

ONE = 31  # bits of a probability's fraction
UNKNOWN = 16  # bits: what a letter no language would expect costs, the same for all
WORD = 5
TENTHS = np.array([10, 10, 10, 9, 8], np.int64)  # weight of each order: long n-grams overlap most
WORD_ODDS = (
    3246  # log2(9): a known word is nine times likelier to be meant than a spelling that happens to fit
)
BITS = 10
AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Smoothed:
    """``gains``: over the shorter n-gram; ``values``: what scoring adds; ``floors``: per language and letter."""

    gains: NDArray[np.int32]
    values: NDArray[np.int32]
    floors: NDArray[np.int64]


def logs(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """log2 in 1/1024 bit of whole numbers, at least 1."""
    return log2_fixed(np.maximum(numbers, 1).astype(np.uint64))


def smooth(words: NgramVocabulary, counted: NgramCounts, *, threads: int = 1) -> Smoothed:
    """Derive the values from the counts that are left."""
    gains, values, rest = gains_and_values(
        counted.counts,
        counted.languages,
        counted.stops,
        counted.groups,
        counted.ends,
        counted.contexts,
        counted.shorter,
        np.append(TENTHS, 0),
        words.num_languages,
        UNKNOWN,
    )
    floors = ((ONE << BITS) - logs(rest)) * TENTHS[0] // 10
    chosen = np.flatnonzero(counted.per_entry(counted.groups == WORD))
    gains[chosen] = values[chosen] = _of_words(words, counted, chosen, values, floors, threads)
    return Smoothed(gains, values, floors)


def _of_words(
    words: NgramVocabulary,
    counted: NgramCounts,
    chosen: NDArray[np.int64],
    values: NDArray[np.int32],
    floors: NDArray[np.int64],
    threads: int,
) -> NDArray[np.int64]:
    """What the chosen entries, those of words, gain over their spelling."""
    index = FeatureIndex(counted.keys)
    sums, letters = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int32)

    def sum_range(first: int, last: int) -> None:
        before = int(counted.stops[first - 1]) if first else 0
        sum_words(
            index,
            counted.where,
            counted.stops,
            counted.languages,
            values,
            words.words,
            words.word_stops,
            first,
            last,
            int(np.searchsorted(chosen, before)),
            sums,
            letters,
        )

    in_ranges(sum_range, len(counted.keys), threads)
    costs = floors + (UNKNOWN << BITS)
    totals = logs(text_per_language(words, in_bytes=False)) + (2 << BITS)
    for first in range(0, len(chosen), AT_ONCE):  # each of these lines makes a table of its own
        part = slice(first, first + AT_ONCE)
        speech = counted.languages[chosen[part]]
        spelling = sums[part] - letters[part] * costs[speech]
        meant = logs(4 * counted.counts[chosen[part]].astype(np.int64) - 3) - totals[speech]
        sums[part] = _log_of_sum(meant - spelling + WORD_ODDS)
    return sums


def _log_of_sum(exponent: NDArray[np.int64]) -> NDArray[np.int64]:
    """log2(1 + 2**x), all in 1/1024."""
    size = np.abs(exponent)
    whole = np.minimum(size >> BITS, 40)
    small = powers_of_two(BITS)[size & ((1 << BITS) - 1)].astype(np.int64) >> whole
    return np.maximum(exponent, 0) + logs((1 << 30) + small) - (30 << BITS)
