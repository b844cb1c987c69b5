"""Backoff mode's model: what each character n-gram and word says about each language, as 16-bit integers.

The value of a feature for a language is its log-probability above the floor, ``weight * log2(count / alpha + 1)``, and a
language without the feature pays the floor, ``weight * log2(total / alpha + features)``: with 1 / alpha whole, both are
logs of whole numbers, taken without floating point. Weights and alphas were tuned on a part of the training split of the
86-language strings held back for it (dev/LOG.md has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.features import count_features, log2_fixed
from samebits.kernels.langid.score import Scorer
from samebits.kernels.langid.text.words import copy_ranges
from samebits.langid.constants import CONSTANTS, NUM_GROUPS, VALUE_SHIFT
from samebits.langid.training.tasks import WordCounts

__all__ = [
    "Features",
    "derive",
    "features_of_words",
    "floors_of",
    "group_numbers",
    "masters_of",
    "powers_of_two",
    "stored_values",
    "sums_by_group",
    "values_of",
]


@dataclass(frozen=True, slots=True)
class Features:
    """Sorted keys; entries ``stops[f-1]:stops[f]`` are a feature's languages with count and value.

    ``master`` are the values in 1/1024 bit, which refinement changes; ``floors`` is (groups, languages).
    """

    keys: NDArray[np.uint64]
    stops: NDArray[np.int64]
    languages: NDArray[np.uint16]
    counts: NDArray[np.uint32]
    master: NDArray[np.int64]
    floors: NDArray[np.int32]

    @property
    def values(self) -> NDArray[np.int16]:
        """The values as the model stores them."""
        return stored_values(self.master)

    def scorer(self, *, finds: bool = True) -> Scorer:
        """Make the look-up tables; without ``finds`` only those of values."""
        return Scorer(self.keys, self.stops, self.languages, self.values, self.floors, finds)


def stored_values(master: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return values as the model stores them."""
    values: NDArray[np.int16] = np.clip(master >> VALUE_SHIFT, -(1 << 15), (1 << 15) - 1).astype(np.int16)
    return values


def masters_of(values: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return what is stored as these values; what refinement knew beyond them is gone.

    >>> values = np.array([-32768, -1, 0, 7], np.int16)
    >>> stored_values(masters_of(values)).tolist()
    [-32768, -1, 0, 7]
    """
    return values.astype(np.int64) << VALUE_SHIFT


def group_numbers(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the group of each key; the kernels' ``group_of``."""
    top = keys >> np.uint64(62)
    short = np.where(keys >> np.uint64(42), 2, np.where(keys >> np.uint64(21), 1, 0))
    return np.where(top == 3, 4, np.where(top == 2, 3, short)).astype(np.int64)


def derive(
    words: NDArray[np.uint8], word_stops: NDArray[np.int64], counted: WordCounts, num_languages: int
) -> Features:
    """Make the features from word counts by language."""
    keys, languages, counts = count_features(
        words, word_stops, counted.stops, counted.languages, counted.counts
    )
    order = np.lexsort((languages, keys))
    keys, languages, counts = keys[order], languages[order], counts[order]
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if len(keys) else np.empty(0, np.int64)
    groups = group_numbers(keys)
    return Features(
        keys=keys[last],
        stops=(last + 1).astype(np.int64),
        languages=languages.astype(np.uint16),
        counts=counts,
        master=values_of(counts, groups),
        floors=floors_of(sums_by_group(languages, counts, groups, group_numbers(keys[last]), num_languages)),
    )


def values_of(counts: NDArray[np.uint32], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the values of entries, in 1/1024 bit."""
    distinct, where = np.unique(counts, return_inverse=True)
    values = np.empty(len(counts), np.int64)
    for group, (inverse_alpha, weight) in enumerate(CONSTANTS.tolist()):
        logs = weight * log2_fixed(distinct.astype(np.uint64) * np.uint64(inverse_alpha) + np.uint64(1))
        chosen = groups == group
        values[chosen] = logs[where[chosen]]
    return values


def sums_by_group(
    languages: NDArray[Any],
    counts: NDArray[np.uint32],
    groups: NDArray[np.int64],
    feature_groups: NDArray[np.int64],
    num_languages: int,
) -> list[tuple[int, NDArray[np.uint64]]]:
    """Return for each group how many features it has, and the sum of their counts by language."""
    found = []
    for group in range(NUM_GROUPS):
        chosen = groups == group
        totals = np.zeros(num_languages, np.uint64)
        np.add.at(totals, languages[chosen], counts[chosen].astype(np.uint64))
        found.append((int((feature_groups == group).sum()), totals))
    return found


def floors_of(sums: Sequence[tuple[int, NDArray[np.uint64]]]) -> NDArray[np.int32]:
    """Return what a language without a feature pays, from ``sums_by_group``."""
    floors = np.zeros((NUM_GROUPS, len(sums[0][1])), np.int32)
    for group, (inverse_alpha, weight) in enumerate(CONSTANTS.tolist()):
        number, totals = sums[group]
        logs = log2_fixed(totals * np.uint64(inverse_alpha) + np.uint64(max(1, number)))
        floors[group] = (weight * logs) >> VALUE_SHIFT
    return floors


def features_of_words(
    features: Features, used: NDArray[np.int64], words: NDArray[np.uint8], word_stops: NDArray[np.int64]
) -> tuple[Features, NDArray[np.int64]]:
    """Return a table of the features of some words alone, and the places of its entries in the whole one."""
    data, sizes = copy_ranges(words, word_stops, used, 1)
    number = len(used)
    once = (np.arange(1, number + 1), np.zeros(number, np.int32), np.ones(number, np.uint32))
    keys = np.sort(count_features(data, np.cumsum(sizes), *once)[0])
    places = np.minimum(np.searchsorted(features.keys, keys), len(features.keys) - 1)
    chosen = places[features.keys[places] == keys]
    lengths = np.diff(features.stops, prepend=0)[chosen]
    stops = np.cumsum(lengths)
    first = features.stops[chosen] - lengths
    entries = np.arange(int(stops[-1]) if len(stops) else 0) + np.repeat(first - (stops - lengths), lengths)
    table = replace(
        features,
        keys=features.keys[chosen],
        stops=stops,
        languages=features.languages[entries],
        counts=features.counts[entries],
        master=features.master[entries],
    )
    return table, entries


@cache
def powers_of_two(shift: int) -> NDArray[np.uint32]:
    """2**30 times 2**(-i / 2**shift) for i below 2**shift, rounded down: square roots of integers, no libm.

    >>> powers_of_two(1).tolist()
    [1073741824, 759250124]
    """
    bits = 96
    table = [1 << bits]
    root = 1 << (bits - 1)  # 2**-1, then its square root, and so on
    for _ in range(shift):
        root = isqrt(root << bits)
        table = [value for entry in table for value in (entry, (entry * root) >> bits)]
    return np.array([value >> (bits - 30) for value in table], np.uint32)
