"""The features that some rows have: a table for them alone, where the whole one is large and the rows are few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.features import count_features
from samebits.kernels.langid.text.words import copy_ranges
from samebits.langid.model.features import Features
from samebits.langid.training.tasks import TokenRows

__all__ = ["features_of_rows"]


def features_of_rows(
    features: Features, rows: TokenRows, words: NDArray[np.uint8], word_stops: NDArray[np.int64]
) -> tuple[Features, NDArray[np.int64]]:
    """Return the features of some rows, and the places of their entries in the whole table."""
    used = np.unique(rows.tokens).astype(np.int64)
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
