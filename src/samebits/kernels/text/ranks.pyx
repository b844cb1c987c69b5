# cython: language_level=3
"""Merging runs of counted keys that are ranked already: by falling count, equal counts by the bytes of their keys."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

import numpy as np


cdef inline bint is_before(
    const uint8_t* keys, const int64_t* offsets, const int64_t* counts, int64_t a, int64_t b
) noexcept nogil:
    """Whether entry a ranks before entry b; of equal entries neither does."""
    cdef int64_t size_a, size_b
    cdef int order
    if counts[a] != counts[b]:
        return counts[a] > counts[b]
    size_a = offsets[a + 1] - offsets[a]
    size_b = offsets[b + 1] - offsets[b]
    order = memcmp(keys + offsets[a], keys + offsets[b], min(size_a, size_b))
    if order:
        return order < 0
    return size_a < size_b


def merge_ranked(
    const uint8_t[::1] keys, const int64_t[::1] offsets, const int64_t[::1] counts, const int64_t[::1] stops
):
    """Return the numbers of all entries in rank order.

    Args:
        keys: Key i is ``keys[offsets[i]:offsets[i + 1]]``.
        offsets: One more than there are entries.
        counts: One for each entry.
        stops: Where each run ends, in entries; inside a run entries are ranked.
    """
    cdef int64_t number = counts.shape[0], num_runs = stops.shape[0]
    cdef int64_t i, left, right, middle, stop, to, width = 1
    cdef const uint8_t* keys_at = NULL
    cdef const int64_t* offsets_at
    cdef const int64_t* counts_at
    cdef int64_t* now
    cdef int64_t* other
    order = np.arange(number, dtype=np.int64)
    if number == 0 or num_runs < 2:
        return order
    if offsets.shape[0] != number + 1 or stops[num_runs - 1] != number or offsets[number] > keys.shape[0]:
        raise ValueError("keys, offsets, counts and runs do not fit together")
    spare = np.empty(number, dtype=np.int64)
    cdef int64_t[::1] order_view = order
    cdef int64_t[::1] spare_view = spare
    if keys.shape[0]:
        keys_at = &keys[0]
    offsets_at, counts_at = &offsets[0], &counts[0]
    now, other = &order_view[0], &spare_view[0]
    with nogil:
        while width < num_runs:
            to = 0
            i = 0
            while i < num_runs:
                left = 0 if i == 0 else stops[i - 1]
                middle = stops[min(i + width, num_runs) - 1]
                stop = stops[min(i + 2 * width, num_runs) - 1]
                right = middle
                to = left
                while left < middle and right < stop:
                    if is_before(keys_at, offsets_at, counts_at, now[right], now[left]):
                        other[to] = now[right]
                        right += 1
                    else:
                        other[to] = now[left]
                        left += 1
                    to += 1
                memcpy(other + to, now + left, (middle - left) * sizeof(int64_t))
                to += middle - left
                memcpy(other + to, now + right, (stop - right) * sizeof(int64_t))
                i += 2 * width
            now, other = other, now
            width *= 2
    return order if now == &order_view[0] else spare
