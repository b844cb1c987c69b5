"""Choose the entries a compact model of a given size keeps.

An entry matters the more, the more frequent its n-gram is in its language (and in any), the more it gains over its shorter
n-gram, and the less that shorter n-gram tells already which language it is: Greek needs few long n-grams, Danish many.
All of it is added up as logarithms of whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.smoothing import weigh
from samebits.langid.training.compact.ngram_counts import NgramCounts

__all__ = ["bucket_count", "choose"]

FREQUENT = 100_000  # added to a language's total: of a language with little text fewer entries are believed
FOR_WORDS = 1 << 10  # a word counts double: held-out sources gain .4 on single words (dev/LOG.md)
HIGHEST = 1 << 20


def choose(counted: NgramCounts, gains: NDArray[np.int32], *, num_bytes: int) -> NDArray[np.bool_]:
    """Return which entries to keep, so that the model takes at most ``num_bytes``."""
    weight = weigh(
        counted.counts,
        counted.languages,
        counted.stops,
        counted.groups,
        counted.contexts,
        counted.shorter,
        gains,
        FREQUENT,
        FOR_WORDS,
    )
    entries = np.sort(weight)
    features = np.sort(np.maximum.reduceat(weight, counted.starts))
    low, high = 0, HIGHEST
    while low + 1 < high:
        middle = (low + high) // 2
        if _bytes(features, entries, middle) > num_bytes:
            low = middle
        else:
            high = middle
    keep: NDArray[np.bool_] = weight >= (0 if _bytes(features, entries, 0) <= num_bytes else high)
    return keep


def bucket_count(num_features: int) -> int:
    """Return a power of two: two to four features lie in a bucket."""
    return 1 << max(1, (max(num_features, 2) - 1).bit_length() - 2)


def _bytes(features: NDArray[np.int32], entries: NDArray[np.int32], least: int) -> int:
    """Bytes of a model with the entries that weigh so much; a feature is there if one of its entries is."""
    bound = np.int32(least)  # another type would make a wider copy of both arrays
    num = len(features) - int(np.searchsorted(features, bound))
    return 2 * (num + len(entries) - int(np.searchsorted(entries, bound))) + bucket_count(num)
