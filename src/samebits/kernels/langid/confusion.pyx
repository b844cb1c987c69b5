"""How many rows of each language were taken for which: one pass over labels and answers."""

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
