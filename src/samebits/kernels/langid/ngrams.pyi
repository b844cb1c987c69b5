"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

def count_ngrams(
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    entry_stops: NDArray[np.int64],
    languages: NDArray[np.int32],
    counts: NDArray[np.uint32],
    raw: NDArray[np.uint32],
    part: int,
    parts: int,
    least: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint16], NDArray[np.uint32]]:
    """Return keys, where each was seen, languages and counts of the features whose key lies in the part, unsorted.

    ``counts`` are those of n-grams, ``raw`` of words; pairs counted less than ``least`` times are left out.
    """

class FeatureIndex:
    def __init__(self, keys: NDArray[np.uint64]) -> None: ...

def link_ngrams(
    index: FeatureIndex,
    where: NDArray[np.uint64],
    stops: NDArray[np.int64],
    languages: NDArray[np.uint8],
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    first: int,
    last: int,
    groups: NDArray[np.uint8],
    ends: NDArray[np.uint8],
    contexts: NDArray[np.int32],
    shorter: NDArray[np.int32],
) -> None: ...
def sum_words(
    index: FeatureIndex,
    where: NDArray[np.uint64],
    stops: NDArray[np.int64],
    languages: NDArray[np.uint8],
    values: NDArray[np.int32],
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    first: int,
    last: int,
    out: int,
    totals: NDArray[np.int64],
    letters: NDArray[np.int32],
) -> None: ...
