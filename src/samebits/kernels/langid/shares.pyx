"""The best language of each text and its probability, from scores: whole numbers up to one division."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np


def best_shares(
    const int32_t[:, ::1] scores,
    const int32_t[::1] letters,
    const int64_t[::1] halving,
    const uint32_t[::1] powers,
    const uint8_t[::1] allowed,
    int bits,
):
    """Numbers of the best allowed languages (int64, -1 without letters) and their probabilities; see the stub."""
    cdef int64_t n = scores.shape[0], r, behind, per, step, total
    cdef int l, best, num = <int>scores.shape[1]
    numbers, shares = np.empty(n, np.int64), np.empty(n)
    cdef int64_t[::1] number_view = numbers
    cdef double[::1] share_view = shares
    with nogil:
        for r in range(n):
            best = -1
            for l in range(num):
                if allowed[l] and (best < 0 or scores[r, l] > scores[r, best]):
                    best = l
            per = halving[min(<int64_t>letters[r], halving.shape[0] - 1)]
            total = 0
            for l in range(num):
                behind = <int64_t>scores[r, best] - scores[r, l]
                if allowed[l] and behind < 31 * per:
                    step = (behind << bits) // per
                    total += powers[step & ((1 << bits) - 1)] >> (step >> bits)
            share_view[r] = <double>powers[0] / <double>total
            number_view[r] = best if letters[r] > 0 else -1
    return numbers, shares
