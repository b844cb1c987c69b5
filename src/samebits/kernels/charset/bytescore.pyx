"""Score bytes against many models at once.

Costs lie by byte pair, one byte a model, so one pair adds a row of neighbouring bytes: a scan the compiler
vectorises, instead of one random look-up per pair and model. Sums are integers: no order can change them.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

import numpy as np


def score(const uint8_t[::1] data, const uint8_t[:, ::1] costs, const uint8_t[::1] skips, int ascii_weight, int other_weight):
    """Sum the cost of every byte pair for every model.

    Args:
        data: At most 16 MB, so that 32-bit sums cannot overflow.
        costs: (65536, models).
        skips: Per byte value, whether a repeat of it says nothing (whitespace).
        ascii_weight: Weight of a pair of two bytes below 0x80.
        other_weight: Weight of every other pair.

    Returns:
        int64[models].
    """
    cdef Py_ssize_t n = data.shape[0], m = costs.shape[1], i, j
    cdef uint32_t weight
    cdef const uint8_t* row
    assert costs.shape[0] == 65536 and skips.shape[0] == 256
    if n > 16_000_000 // max(ascii_weight, other_weight, 1):
        raise ValueError(f"{n} bytes are too many to score at once")
    sums = np.zeros(m, np.uint32)
    cdef uint32_t[::1] total = sums
    with nogil:
        for i in range(1, n):
            if data[i] == data[i - 1] and skips[data[i]]:
                continue
            weight = ascii_weight if (data[i] | data[i - 1]) < 0x80 else other_weight
            row = &costs[(data[i - 1] << 8) | data[i], 0]
            for j in range(m):
                total[j] += weight * row[j]
    return sums.astype(np.int64)
