"""From a model's columns to scores, and from scores to the best language and its probability: whole numbers up to one division.

Near languages are settled among themselves: what the model says counts little, what their own columns say much. The best of
a group keeps the best score of the group, so nothing changes against other languages.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

import numpy as np

cdef enum:
    FRACTION = 10  # bits of the weights


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


def settle(
    const int32_t[:, ::1] columns,
    const int32_t[::1] letters,
    const int32_t[::1] biases,
    const int32_t[::1] members,
    const int32_t[::1] group_stops,
    const uint8_t[::1] allowed,
    const int32_t[::1] of_model,
    const int32_t[::1] of_near,
):
    """Scores int32 (texts, languages); see the stub."""
    cdef int64_t n = columns.shape[0], r, best, value, most, size
    cdef int64_t mixed[256]
    cdef int l, g, k, first, num = <int>biases.shape[0]
    scores = np.empty((n, num), np.int32)
    cdef int32_t[:, ::1] out = scores
    if columns.shape[1] != num + members.shape[0] or members.shape[0] > 256 or allowed.shape[0] != num:
        raise ValueError("the columns are not those of the languages and their groups")
    if of_model.shape[0] != of_near.shape[0]:
        raise ValueError("weights of the model and of the further columns are for different numbers of letters")
    with nogil:
        for r in range(n):
            for l in range(num):
                out[r, l] = columns[r, l] + biases[l]
            first, size = 0, min(<int64_t>letters[r], of_model.shape[0] - 1)
            for g in range(group_stops.shape[0]):
                most = best = -((<int64_t>1) << 60)
                for k in range(first, group_stops[g]):
                    if allowed[members[k]]:
                        value = out[r, members[k]]
                        mixed[k] = of_model[size] * value + <int64_t>of_near[size] * columns[r, num + k]
                        most, best = max(most, value), max(best, mixed[k])
                for k in range(first, group_stops[g]):
                    if allowed[members[k]]:
                        out[r, members[k]] = <int32_t>(most - ((best - mixed[k]) >> FRACTION))
                first = group_stops[g]
    return scores
