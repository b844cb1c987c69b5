"""Which rows go to validation, and in which order rows stand: pure functions of (seed, row number).

NumPy's generators promise no stable stream across versions, and a stored permutation costs 8 bytes a row. Both
functions here are fixed integer arithmetic: the same on every machine, with random access and no memory.
"""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15
cdef int ROUNDS = 4


cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    """The finalizer of splitmix64: every input bit reaches every output bit."""
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


def hash_rows(uint64_t seed, const int64_t[::1] rows):
    """Hash row numbers with a seed: uniform 64-bit values, one per row."""
    cdef Py_ssize_t i, n = rows.shape[0]
    result = np.empty(n, np.uint64)
    cdef uint64_t[::1] out = result
    cdef uint64_t start = mix(seed + GOLDEN)
    with nogil:
        for i in range(n):
            out[i] = mix(start + (<uint64_t>rows[i] + 1) * GOLDEN)
    return result


cdef int key_rounds(uint64_t seed, uint64_t size, uint64_t* keys) noexcept:
    """Fill in the keys of the rounds; return the bits of half a value."""
    cdef int j, half = 1
    while half < 32 and (<uint64_t>1 << (2 * half)) < size:
        half += 1
    for j in range(ROUNDS):
        keys[j] = mix(mix(seed) + <uint64_t>(j + 1) * GOLDEN)
    return half


cdef object mapped(uint64_t seed, uint64_t size, const int64_t[::1] values, bint back, str noun):
    """Map numbers below ``size`` forth or back.

    The way back takes the keys from the last to the first and swaps the halves before and after: that undoes the rounds.
    """
    cdef Py_ssize_t i, n = values.shape[0]
    cdef int j
    cdef uint64_t value, left, right, low
    cdef uint64_t[4] keys
    cdef int half = key_rounds(seed, size, keys)
    result = np.empty(n, np.int64)
    cdef int64_t[::1] out = result
    for i in range(n):
        if values[i] < 0 or <uint64_t>values[i] >= size:
            raise ValueError(f"{noun} {values[i]} is outside range({size})")
    low = (<uint64_t>1 << half) - 1
    if back:
        keys[0], keys[1], keys[2], keys[3] = keys[3], keys[2], keys[1], keys[0]
    with nogil:
        for i in range(n):
            value = <uint64_t>values[i]
            while True:
                left, right = value >> half, value & low
                if back:
                    left, right = right, left
                for j in range(ROUNDS):
                    left, right = right, left ^ (mix(right + keys[j]) & low)
                if back:
                    left, right = right, left
                value = (left << half) | right
                if value < size:
                    break
            out[i] = <int64_t>value
    return result


def permute(uint64_t seed, uint64_t size, const int64_t[::1] slots):
    """Map slots to rows by a permutation of ``range(size)`` keyed by the seed.

    A four-round Feistel network permutes the next even power of two at or above ``size``; results outside are
    put through again until they fall inside (at most four times on average), which keeps it a bijection.
    Slots must lie in ``range(size)``.
    """
    return mapped(seed, size, slots, False, "slot")


def slots_of(uint64_t seed, uint64_t size, const int64_t[::1] rows):
    """Map rows to their slots: the inverse of ``permute``."""
    return mapped(seed, size, rows, True, "row")
