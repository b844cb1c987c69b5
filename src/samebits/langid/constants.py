"""The numbers of backoff mode that a model states and a reader compares; apart from the code, so that exact mode need not load it."""

from __future__ import annotations

import numpy as np

__all__ = ["CONSTANTS", "NUM_GROUPS", "TEMPERATURE_SHIFT", "UNITS_PER_BIT", "VALUE_SHIFT"]

NUM_GROUPS = 5  # n-grams of 1, 2, 3, 4 letters, and the word
# One row a group: 1 / alpha, weight.
CONSTANTS = np.array([[64, 4], [64, 1], [8, 1], [8, 2], [16, 8]], np.int64)
UNITS_PER_BIT = 64
VALUE_SHIFT = 4  # logs are in 1/1024 bit, values in 1/64 bit
TEMPERATURE_SHIFT = (
    11  # probabilities halve with every 2**11 / 64 = 32 bits behind: overlapping n-grams count double
)
