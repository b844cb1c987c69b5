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
from samebits.kernels.langid.ngrams import sum_words
from samebits.langid.model.features import powers_of_two
from samebits.langid.training.compact.ngram_counts import NgramCounts, NgramVocabulary

__all__ = ["NUM_GROUPS", "WORD", "Smoothed", "logs", "smooth"]

ONE = 31  # bits of a probability's fraction
UNKNOWN = 16  # bits: what a letter no language would expect costs, the same for all
ORDERS = 5
WORD = 5
NUM_GROUPS = 6
TENTHS = np.array([10, 10, 10, 9, 8], np.int64)  # weight of each order: long n-grams overlap most
WORD_ODDS = (
    3246  # log2(9): a known word is nine times likelier to be meant than a spelling that happens to fit
)
BITS = 10


@dataclass(frozen=True, slots=True)
class Smoothed:
    """``gains``: over the shorter n-gram; ``values``: what scoring adds; ``floors``: per language and letter."""

    gains: NDArray[np.int64]
    values: NDArray[np.int32]
    floors: NDArray[np.int64]


def logs(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """log2 in 1/1024 bit of whole numbers, at least 1."""
    return log2_fixed(np.maximum(numbers, 1).astype(np.uint64))


def smooth(words: NgramVocabulary, counted: NgramCounts) -> Smoothed:
    """Derive the values from the counts that are left."""
    num = words.num_languages
    counts, groups = counted.counts.astype(np.int64), counted.per_entry(counted.groups)
    left = _left_over(counted, counts)
    gains = np.zeros(len(counts), np.int64)
    chances = np.ones(len(counts), np.int64)
    first = (groups == 0) & (counted.per_entry(counted.ends) != 2)
    totals = _sums(counted.languages[first], counts[first], num)
    kinds = np.bincount(counted.languages[first], minlength=num)
    rest = np.maximum((3 * kinds << ONE) // np.maximum(4 * totals, 1), 1)
    speech = counted.languages[first]
    chances[first] = _share(counts[first], totals[speech]) + (rest[speech] >> UNKNOWN)
    gains[first] = logs(chances[first]) - logs(rest)[speech] + (UNKNOWN << BITS)
    for group in range(1, ORDERS):
        chosen = np.flatnonzero(groups == group)
        context, shorter = counted.contexts[chosen], counted.shorter[chosen]
        lower = chances[shorter]
        chances[chosen] = _share(counts[chosen], counts[context]) + (left[context] * lower >> ONE)
        gains[chosen] = logs(chances[chosen]) - logs(lower) - logs(left[context]) + (ONE << BITS)
    del chances
    floors = ((ONE << BITS) - logs(rest)) * TENTHS[0] // 10
    values = _values(counted, groups, gains, logs(left) - (ONE << BITS))
    return _with_words(words, counted, groups, gains, values, floors)


def _share(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    shares: NDArray[np.int64] = np.maximum(((4 * counts - 3) << ONE) // np.maximum(4 * totals, 1), 1)
    return shares


def _sums(languages: NDArray[np.uint8], counts: NDArray[np.int64], num: int) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = np.bincount(languages, weights=counts, minlength=num).astype(np.int64)
    return sums  # exact below 2**53


def _left_over(counted: NgramCounts, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each context leaves to shorter ones; 1 where it is no context."""
    real = (counted.contexts >= 0) & (counted.per_entry(counted.groups) < WORD)
    parents = counted.contexts[real]
    taken = np.bincount(parents, weights=counts[real], minlength=len(counts)).astype(np.int64)
    kinds = np.bincount(parents, minlength=len(counts))
    left = ((4 * (counts - taken) + 3 * kinds) << ONE) // (4 * counts)
    return np.where(kinds > 0, np.clip(left, 1, (1 << ONE) - 1), 1 << ONE)


def _values(
    counted: NgramCounts, groups: NDArray[np.uint8], gains: NDArray[np.int64], left: NDArray[np.int64]
) -> NDArray[np.int32]:
    weights = np.append(TENTHS, [0, 0])
    return ((weights[groups] * gains + weights[groups + 1] * left) // 10).astype(np.int32)


def _with_words(
    words: NgramVocabulary,
    counted: NgramCounts,
    groups: NDArray[np.uint8],
    gains: NDArray[np.int64],
    values: NDArray[np.int32],
    floors: NDArray[np.int64],
) -> Smoothed:
    sums, letters = sum_words(
        counted.keys,
        counted.where,
        counted.stops,
        counted.languages,
        values,
        words.words,
        words.word_stops,
    )
    chosen = np.flatnonzero(groups == WORD)
    speech = counted.languages[chosen]
    all_words = _sums(
        words.counted.languages.astype(np.uint8), words.counted.counts.astype(np.int64), words.num_languages
    )
    spelling = sums[chosen] - letters[chosen] * (floors[speech] + (UNKNOWN << BITS))
    meant = logs(4 * counted.counts[chosen].astype(np.int64) - 3) - (2 << BITS) - logs(all_words)[speech]
    gains[chosen] = values[chosen] = _log_of_sum(meant - spelling + WORD_ODDS)
    return Smoothed(gains, values, floors)


def _log_of_sum(exponent: NDArray[np.int64]) -> NDArray[np.int64]:
    """log2(1 + 2**x), all in 1/1024."""
    size = np.abs(exponent)
    whole = np.minimum(size >> BITS, 40)
    small = powers_of_two(BITS)[size & ((1 << BITS) - 1)].astype(np.int64) >> whole
    return np.maximum(exponent, 0) + logs((1 << 30) + small) - (30 << BITS)
