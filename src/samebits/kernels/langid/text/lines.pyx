"""Labelled rows as lines: JSON objects of a text and a label, or fastText's ``__label__xx text``. No Python object a row.

The JSON is msgspec's, byte for byte: ``"`` and ``\\`` behind a backslash, the five short escapes, other control characters
as ``\\u00xx``, everything else as it is.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from samebits.kernels.langid.text.unicode cimport SPACE, Points, Tables, decode, flags_of
from samebits.kernels.langid.text.words cimport Bytes, array_of, need

cdef uint8_t[256] SHORT  # the letter behind the backslash; 1: \u00xx; 0: nothing to escape
cdef const char* HEX = b"0123456789abcdef"


cdef void fill_short():
    cdef int c
    for c in range(256):
        SHORT[c] = 1 if c < 32 else 0
    for c, letter in ((8, "b"), (9, "t"), (10, "n"), (12, "f"), (13, "r"), (34, '"'), (92, "\\")):
        SHORT[c] = <uint8_t>ord(letter)


fill_short()


cdef void put(Bytes* out, const uint8_t* p, int64_t n) noexcept nogil:
    # The caller has made room.
    memcpy(out.data + out.size, p, n)
    out.size += n


cdef void put_escaped(Bytes* out, const uint8_t* p, int64_t n) noexcept nogil:
    # The caller has made room for 6 n bytes.
    cdef int64_t i
    cdef uint8_t* to = out.data + out.size
    cdef uint8_t c, short
    for i in range(n):
        c = p[i]
        short = SHORT[c]
        if short == 0:
            to[0] = c
            to += 1
        elif short == 1:
            memcpy(to, b"\\u00", 4)
            to[4] = HEX[c >> 4]
            to[5] = HEX[c & 15]
            to += 6
        else:
            to[0] = 92
            to[1] = short
            to += 2
    out.size = to - out.data


cdef void put_spaced(Bytes* out, const Points* t, const uint8_t* p, int64_t n) noexcept nogil:
    # White space of any kind becomes one space, none at the ends: a newline would start another row.
    cdef int64_t i = 0, start
    cdef bint wanted = False, some = False
    while i < n:
        start = i
        if flags_of(t, decode(p, &i)) & SPACE:
            wanted = some
            continue
        if wanted:
            put(out, b" ", 1)
            wanted = False
        put(out, p + start, i - start)
        some = True


def json_lines(
    const uint8_t[::1] text, const int64_t[::1] text_starts, const int64_t[::1] text_stops,
    const uint8_t[::1] label, const int64_t[::1] label_starts, const int64_t[::1] label_stops,
    const int64_t[::1] rows, const uint8_t[::1] before, const uint8_t[::1] between,
):
    """JSON lines of the chosen rows: ``before``, the text, ``between``, the label, ``"}``."""
    cdef int64_t i, r, size
    cdef Bytes out
    cdef bint room = True
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            for i in range(rows.shape[0]):
                r = rows[i]
                size = text_stops[r] - text_starts[r] + label_stops[r] - label_starts[r]
                room = need(&out, 6 * size + before.shape[0] + between.shape[0] + 8)
                if not room:
                    break
                put(&out, &before[0], before.shape[0])
                put_escaped(&out, &text[0] + text_starts[r], text_stops[r] - text_starts[r])
                put(&out, &between[0], between.shape[0])
                put_escaped(&out, &label[0] + label_starts[r], label_stops[r] - label_starts[r])
                put(&out, b"\"}\n", 3)
        if not room:
            raise MemoryError
        return array_of(&out, np.uint8)
    finally:
        free(out.data)


def label_lines(
    Tables tables,
    const uint8_t[::1] text, const int64_t[::1] text_starts, const int64_t[::1] text_stops,
    const uint8_t[::1] label, const int64_t[::1] label_starts, const int64_t[::1] label_stops,
    const int64_t[::1] rows,
):
    """``__label__xx text`` lines of the chosen rows."""
    cdef int64_t i, r
    cdef Bytes out
    cdef bint room = True
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            for i in range(rows.shape[0]):
                r = rows[i]
                room = need(&out, text_stops[r] - text_starts[r] + label_stops[r] - label_starts[r] + 16)
                if not room:
                    break
                put(&out, b"__label__", 9)
                put(&out, &label[0] + label_starts[r], label_stops[r] - label_starts[r])
                put(&out, b" ", 1)
                put_spaced(&out, &tables.points, &text[0] + text_starts[r], text_stops[r] - text_starts[r])
                put(&out, b"\n", 1)
        if not room:
            raise MemoryError
        return array_of(&out, np.uint8)
    finally:
        free(out.data)
