"""Bytes of an encoding: map characters to images, and count byte pairs directly or from character pairs.

``rewrite`` turns text into what an encoding can hold (for codecs with state, which have to see whole texts);
``count_bytes`` counts encoded texts; ``add_crossings`` and ``add_weighted`` project counts of characters and
character pairs onto byte pairs. A byte pair is ``first * 256 + second``.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc

from samebits.kernels.text.utf8 cimport next_char

import numpy as np

cdef enum:
    ID_MASK = (1 << 21) - 1
    COLLAPSES = 1 << 26


cdef int check_ranges(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops) except -1:
    cdef Py_ssize_t t
    if starts.shape[0] != stops.shape[0]:
        raise ValueError(f"{starts.shape[0]} starts but {stops.shape[0]} stops")
    for t in range(starts.shape[0]):
        if starts[t] < 0 or stops[t] < starts[t] or stops[t] > data.shape[0]:
            raise ValueError(f"text {t} lies outside the buffer: {starts[t]}..{stops[t]} of {data.shape[0]}")
    return 0


def count_bytes(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops):
    """Count byte pairs inside each ``data[starts[i]:stops[i]]``, none across two of them; int64[65536]."""
    cdef Py_ssize_t t
    cdef int64_t i
    check_ranges(data, starts, stops)
    out = np.zeros(65536, np.int64)
    cdef int64_t[::1] counts = out
    with nogil:
        for t in range(starts.shape[0]):
            for i in range(starts[t] + 1, stops[t]):
                counts[(data[i - 1] << 8) | data[i]] += 1
    return out


def add_weighted(
    int64_t[::1] counts,
    const uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const int64_t[::1] weights,
):
    """Add ``weights[i]`` to ``counts`` for each byte pair inside ``data[starts[i]:stops[i]]``."""
    cdef Py_ssize_t t
    cdef int64_t i
    check_ranges(data, starts, stops)
    assert counts.shape[0] == 65536 and weights.shape[0] == starts.shape[0]
    with nogil:
        for t in range(starts.shape[0]):
            for i in range(starts[t] + 1, stops[t]):
                counts[(data[i - 1] << 8) | data[i]] += weights[t]


def add_crossings(
    int64_t[::1] counts,
    const int64_t[::1] left,
    const int64_t[::1] right,
    const int64_t[::1] weights,
    const uint8_t[::1] last_bytes,
    const uint8_t[::1] first_bytes,
):
    """Add ``weights[i]`` at (last byte of ``left[i]``, first byte of ``right[i]``)."""
    cdef Py_ssize_t i
    cdef Py_ssize_t num_left = last_bytes.shape[0], num_right = first_bytes.shape[0]
    assert counts.shape[0] == 65536 and left.shape[0] == right.shape[0] == weights.shape[0]
    for i in range(left.shape[0]):
        if left[i] < 0 or left[i] >= num_left or right[i] < 0 or right[i] >= num_right:
            raise ValueError(f"pair {i} names an id outside the tables: {left[i]}, {right[i]}")
    with nogil:
        for i in range(left.shape[0]):
            counts[(last_bytes[left[i]] << 8) | first_bytes[right[i]]] += weights[i]


cdef struct Output:
    uint8_t* data
    int64_t length
    int64_t capacity


cdef inline int write_char(Output* out, uint32_t c) noexcept nogil:
    cdef void* block
    if out.length + 4 > out.capacity:
        out.capacity = out.capacity * 2 + 4096
        block = realloc(out.data, out.capacity)
        if block == NULL:
            return -1
        out.data = <uint8_t*>block
    cdef uint8_t* p = out.data + out.length
    if c < 0x80:
        p[0] = <uint8_t>c
        out.length += 1
    elif c < 0x800:
        p[0] = <uint8_t>(0xC0 | (c >> 6))
        p[1] = <uint8_t>(0x80 | (c & 63))
        out.length += 2
    elif c < 0x10000:
        p[0] = <uint8_t>(0xE0 | (c >> 12))
        p[1] = <uint8_t>(0x80 | ((c >> 6) & 63))
        p[2] = <uint8_t>(0x80 | (c & 63))
        out.length += 3
    else:
        p[0] = <uint8_t>(0xF0 | (c >> 18))
        p[1] = <uint8_t>(0x80 | ((c >> 12) & 63))
        p[2] = <uint8_t>(0x80 | ((c >> 6) & 63))
        p[3] = <uint8_t>(0x80 | (c & 63))
        out.length += 4
    return 0


cdef int rewrite_one(
    Output* out,
    const uint8_t* p,
    int64_t i,
    int64_t stop,
    const uint32_t* table,
    const uint32_t* points,
    const uint8_t* is_space,
    const int64_t* offsets,
) noexcept nogil:
    """Collapse repeats, replace each character by its image, collapse repeated whitespace of the result."""
    cdef uint32_t c, last = 0xFFFFFFFF, written = 0xFFFFFFFF
    cdef int64_t k, j
    while i < stop:
        c = next_char(p, &i, stop)
        if c == last and table[c] & COLLAPSES:
            continue
        last = c
        k = table[c] & ID_MASK
        for j in range(offsets[k], offsets[k + 1]):
            if points[j] == written and is_space[j]:
                continue
            written = points[j]
            if write_char(out, written) != 0:
                return -1
    return 0


def rewrite(
    const uint8_t[::1] text,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint32_t[::1] table,
    const uint32_t[::1] points,
    const uint8_t[::1] is_space,
    const int64_t[::1] offsets,
):
    """Rewrite texts character by character.

    Args:
        text: Valid UTF-8.
        starts: First byte of each text.
        stops: One past the last byte of each text.
        table: Per code point its id and class bits, as for ``bytepairs.count_pairs``.
        points: Code points of all images, one after the other.
        is_space: For each of ``points``, whether equal neighbours of it shrink to one.
        offsets: The image of id k is ``points[offsets[k]:offsets[k + 1]]``.

    Returns:
        ``(data, ends)``: the new texts as UTF-8 bytes, text i being ``data[ends[i]:ends[i + 1]]``.
    """
    cdef Output out
    cdef Py_ssize_t t
    cdef int failed = 0
    assert table.shape[0] >= 0x110000 and is_space.shape[0] == points.shape[0]
    check_ranges(text, starts, stops)
    ends = np.zeros(starts.shape[0] + 1, np.int64)
    cdef int64_t[::1] ends_view = ends
    if text.shape[0] == 0 or points.shape[0] == 0:
        return b"", ends
    out.capacity = text.shape[0] + 4
    out.length = 0
    out.data = <uint8_t*>malloc(out.capacity)
    try:
        if out.data == NULL:
            raise MemoryError(f"no memory for {out.capacity} bytes of text")
        with nogil:
            for t in range(starts.shape[0]):
                failed |= rewrite_one(
                    &out, &text[0], starts[t], stops[t], &table[0], &points[0], &is_space[0], &offsets[0]
                )
                if failed:
                    break
                ends_view[t + 1] = out.length
        if failed:
            raise MemoryError(f"no memory for {out.capacity} bytes of text")
        return out.data[: out.length], ends
    finally:
        free(out.data)
