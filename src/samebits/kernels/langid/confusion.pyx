"""What a report counts: how many rows of each language were taken for which, and the sum of their margins in one written-out order."""

from libc.stdint cimport int32_t, int64_t

import numpy as np


def confusion_table(const int32_t[::1] labels, const int32_t[::1] top, int64_t num_languages):
    """Return a table int64 [true, predicted]; the last column counts rows without an answer (-1)."""
    cdef int64_t r, width = num_languages + 1
    table = np.zeros((num_languages, width), np.int64)
    cdef int64_t[:, ::1] cells = table
    with nogil:
        for r in range(labels.shape[0]):
            cells[labels[r], top[r] if top[r] >= 0 else num_languages] += 1
    return table


cdef double pairwise(const double* values, int64_t size) noexcept nogil:
    cdef double sums[8]
    cdef double total = 0.0
    cdef int64_t i, half, whole = size - size % 8
    if size > 128:
        half = size // 2
        half -= half % 8
        return pairwise(values, half) + pairwise(values + half, size - half)
    if whole:
        for i in range(8):
            sums[i] = values[i]
        for i in range(8, whole):
            sums[i % 8] += values[i]
        total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    for i in range(whole, size):
        total += values[i]
    return total


def pairwise_sum(const double[::1] values):
    """Return the sum of floats, added pairwise.

    More than 128 numbers are cut near the middle, at a multiple of 8, and both sums are added; fewer are added in eight sums side
    by side. NumPy 2 adds in this order and NumPy 1.26 in another, so a sum that reaches an artifact is not left to NumPy.
    """
    cdef double total
    if values.shape[0] == 0:
        return 0.0
    with nogil:
        total = pairwise(&values[0], values.shape[0])
    return total
