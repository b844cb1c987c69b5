"""Choose the entries a compact model of a given size keeps.

An entry matters the more, the more frequent its n-gram is in its language (and in any), the more it gains over its shorter
n-gram, and the less that shorter n-gram tells already which language it is: Greek needs few long n-grams, Danish many.
All of it is added up as logarithms of whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samebits.langid.training.compact.ngram_counts import NgramCounts
from samebits.langid.training.compact.smoothing import NUM_GROUPS, logs

__all__ = ["bucket_count", "choose"]

FREQUENT = 100_000  # added to a language's total: of a language with little text fewer entries are believed
ALWAYS = 1 << 40
FRACTION = 32


def choose(
    counted: NgramCounts, gains: NDArray[np.int64], *, num_languages: int, num_bytes: int
) -> NDArray[np.bool_]:
    """Return which entries to keep, so that the model takes at most ``num_bytes``."""
    weight = _importance(counted, gains, num_languages)
    groups = counted.per_entry(counted.groups)
    for group in range(4, 0, -1):  # what an n-gram is built on stays with it
        chosen = np.flatnonzero(groups == group)
        np.maximum.at(weight, counted.contexts[chosen], weight[chosen])
        np.maximum.at(weight, counted.shorter[chosen], weight[chosen])
    low, high = 0, 1 << 20
    while low + 1 < high:
        middle = (low + high) // 2
        if _bytes(counted, weight >= middle) > num_bytes:
            low = middle
        else:
            high = middle
    return weight >= (0 if _bytes(counted, weight >= 0) <= num_bytes else high)


def bucket_count(num_features: int) -> int:
    """Return a power of two: two to four features lie in a bucket."""
    return 1 << max(1, (max(num_features, 2) - 1).bit_length() - 2)


def _bytes(counted: NgramCounts, keep: NDArray[np.bool_]) -> int:
    features = int(np.logical_or.reduceat(keep, counted.stops - counted.sizes).sum())
    return 2 * (features + int(keep.sum())) + 4 * bucket_count(features)


def _importance(counted: NgramCounts, gains: NDArray[np.int64], num_languages: int) -> NDArray[np.int64]:
    groups = counted.per_entry(counted.groups).astype(np.int64)
    place = groups * num_languages + counted.languages
    totals = np.bincount(place, weights=counted.counts, minlength=NUM_GROUPS * num_languages).astype(np.int64)
    own = (counted.counts.astype(np.int64) << FRACTION) // (totals[place] + FREQUENT)
    starts = counted.stops - counted.sizes
    most = counted.per_entry(np.maximum.reduceat(own, starts))
    weight = (logs(own) + logs(most)) // 2 + logs(gains)
    linked = np.flatnonzero(counted.shorter >= 0)
    shorter = counted.shorter[linked]
    feature = counted.per_entry(np.arange(len(starts)))[shorter]
    all_of = np.add.reduceat(own, starts)[feature]
    others = (all_of - own[shorter]) * 1000 // np.maximum(all_of, 1)
    weight[linked] += logs(others + 20)
    weight[gains <= 0] = 0
    weight[groups == 0] = ALWAYS
    return weight
