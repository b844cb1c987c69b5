"""Bytes and characters to ids, and UTF-8 slices to Python strings.

Texts come as one UTF-8 buffer with ``starts`` and ``stops``; row ``i`` is ``buffer[starts[i]:stops[i]]``.
Ids come out as one flat array with ``n + 1`` offsets. The readers promise valid UTF-8; a broken sequence is
still safe here: its first byte counts as one unknown character, nothing is read past the row's end.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint32_t next_char(const uint8_t* p, const uint8_t* end, int* width) noexcept nogil:
    """Decode one character; 0xFFFFFFFF for a broken sequence."""
    cdef uint32_t c = p[0]
    cdef int more, i
    if c < 0x80:
        width[0] = 1
        return c
    if 0xC2 <= c <= 0xDF:
        more, c = 1, c & 0x1F
    elif 0xE0 <= c <= 0xEF:
        more, c = 2, c & 0x0F
    elif 0xF0 <= c <= 0xF4:
        more, c = 3, c & 0x07
    else:
        width[0] = 1
        return 0xFFFFFFFF
    width[0] = 1
    if end - p <= more:
        return 0xFFFFFFFF
    for i in range(1, more + 1):
        if (p[i] & 0xC0) != 0x80:
            return 0xFFFFFFFF
        c = (c << 6) | (p[i] & 0x3F)
    width[0] = more + 1
    return c if c < 0x110000 else 0xFFFFFFFF


def check_rows(Py_ssize_t size, const int64_t[::1] starts, const int64_t[::1] stops):
    """Raise unless every row lies inside a buffer of ``size`` bytes; returns the total number of bytes."""
    cdef Py_ssize_t i, n = starts.shape[0]
    cdef int64_t total = 0
    if stops.shape[0] != n:
        raise ValueError(f"{n} starts but {stops.shape[0]} stops")
    for i in range(n):
        if starts[i] < 0 or stops[i] < starts[i] or stops[i] > size:
            raise ValueError(f"row {i} is [{starts[i]}, {stops[i]}) in a buffer of {size}")
        total += stops[i] - starts[i]
    return total


def bytes_to_ids(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """One id per byte, equal to the byte. Returns (ids, offsets)."""
    import numpy as np

    cdef Py_ssize_t i, j, k = 0, n = starts.shape[0]
    ids = np.empty(check_rows(buffer.shape[0], starts, stops), np.uint32)
    offsets = np.zeros(n + 1, np.int64)
    cdef uint32_t[::1] out = ids
    cdef int64_t[::1] ends = offsets
    with nogil:
        for i in range(n):
            for j in range(starts[i], stops[i]):
                out[k] = buffer[j]
                k += 1
            ends[i + 1] = k
    return ids, offsets


def chars_to_ids(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const int32_t[::1] table,
    uint32_t unknown,
):
    """One id per character by a table over all 0x110000 code points (-1: unknown).

    Returns (ids, offsets, number of unknown characters).
    """
    import numpy as np

    cdef Py_ssize_t i, k = 0, n = starts.shape[0]
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef uint32_t c
    cdef int32_t found
    cdef int width = 0
    cdef int64_t missing = 0
    if table.shape[0] != 0x110000:
        raise ValueError(f"the table has {table.shape[0]} entries, not {0x110000}")
    ids = np.empty(check_rows(buffer.shape[0], starts, stops), np.uint32)
    offsets = np.zeros(n + 1, np.int64)
    cdef uint32_t[::1] out = ids
    cdef int64_t[::1] ends = offsets
    with nogil:
        for i in range(n):
            p = &buffer[0] + starts[i] if stops[i] > starts[i] else NULL
            end = p + (stops[i] - starts[i])
            while p < end:
                c = next_char(p, end, &width)
                found = table[c] if c < 0x110000 else -1
                if found < 0:
                    missing += 1
                    out[k] = unknown
                else:
                    out[k] = <uint32_t>found
                k += 1
                p += width
            ends[i + 1] = k
    return ids[:k], offsets, missing


def count_chars(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """How often each code point occurs: int64 array of 0x110000 counts (broken sequences are not counted)."""
    import numpy as np

    cdef Py_ssize_t i, n = starts.shape[0]
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef uint32_t c
    cdef int width = 0
    check_rows(buffer.shape[0], starts, stops)
    counts = np.zeros(0x110000, np.int64)
    cdef int64_t[::1] out = counts
    with nogil:
        for i in range(n):
            p = &buffer[0] + starts[i] if stops[i] > starts[i] else NULL
            end = p + (stops[i] - starts[i])
            while p < end:
                c = next_char(p, end, &width)
                if c < 0x110000:
                    out[c] += 1
                p += width
    return counts


def rows_to_strings(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """The rows as Python strings, for libraries that take nothing else."""
    cdef Py_ssize_t i, n = starts.shape[0]
    check_rows(buffer.shape[0], starts, stops)
    cdef list rows = [""] * n
    for i in range(n):
        if stops[i] > starts[i]:
            rows[i] = PyUnicode_DecodeUTF8(<const char*>&buffer[starts[i]], stops[i] - starts[i], NULL)
    return rows


def rows_to_bytes(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """The rows as Python bytes, for libraries that take nothing else."""
    cdef Py_ssize_t i, n = starts.shape[0]
    check_rows(buffer.shape[0], starts, stops)
    cdef list rows = [b""] * n
    for i in range(n):
        if stops[i] > starts[i]:
            rows[i] = PyBytes_FromStringAndSize(<const char*>&buffer[starts[i]], stops[i] - starts[i])
    return rows


cdef bint has_char(
    const uint8_t* p, Py_ssize_t size, const int32_t* firsts, const int32_t* lasts, Py_ssize_t num
) noexcept nogil:
    """Whether valid UTF-8 contains a character of one of the ranges, all of which begin at U+0800 or later."""
    cdef Py_ssize_t i = 0, k
    cdef int32_t code
    cdef uint64_t eight
    while i < size:
        if i + 8 <= size:
            memcpy(&eight, p + i, 8)
            if not eight & <uint64_t>0x8080808080808080:
                i += 8
                continue
        if p[i] < 0xE0:
            i += 1
            continue
        if p[i] < 0xF0:
            if i + 2 >= size:
                return False
            code = ((p[i] & 15) << 12) | ((p[i + 1] & 63) << 6) | (p[i + 2] & 63)
            i += 3
        else:
            if i + 3 >= size:
                return False
            code = ((p[i] & 7) << 18) | ((p[i + 1] & 63) << 12) | ((p[i + 2] & 63) << 6) | (p[i + 3] & 63)
            i += 4
        for k in range(num):
            if code < firsts[k]:
                break
            if code <= lasts[k]:
                return True
    return False


def rows_with_chars(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const int32_t[::1] firsts,
    const int32_t[::1] lasts,
):
    """Which rows contain a character of one of the ranges ``firsts[k]`` to ``lasts[k]``, in ascending order: uint8."""
    import numpy as np

    cdef Py_ssize_t i, n = starts.shape[0], num = firsts.shape[0]
    check_rows(buffer.shape[0], starts, stops)
    if num == 0 or lasts.shape[0] != num:
        raise ValueError(f"{num} ranges begin and {lasts.shape[0]} end")
    found = np.zeros(n, np.uint8)
    cdef uint8_t[::1] flags = found
    with nogil:
        for i in range(n):
            if stops[i] > starts[i]:
                flags[i] = has_char(&buffer[starts[i]], stops[i] - starts[i], &firsts[0], &lasts[0], num)
    return found
