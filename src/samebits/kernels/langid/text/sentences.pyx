"""Where sentences and labels end: positions only, no text is copied."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

import numpy as np

from samebits.kernels.langid.text.unicode cimport (
    CLOSER, DECIMAL, LOWER, SPACE, STOP, STOP_WIDE, WORD, Points, Tables, decode, flags_of,
)


cdef bint breaks_here(const Points* t, const uint8_t* p, int64_t after, int64_t n, bint wide) noexcept nogil:
    # After a stop and its closing marks: does a new sentence begin at or behind p[after]?
    cdef int64_t i = after
    cdef uint32_t c = 0
    cdef bint space = False
    while i < n:
        c = decode(p, &i)
        if not flags_of(t, c) & SPACE:
            break
        space = True
    if i >= n and (c == 0 or flags_of(t, c) & SPACE):
        return False  # nothing follows
    return (space or wide) and not flags_of(t, c) & LOWER


cdef int64_t end_of_sentence(const Points* t, const uint8_t* p, int64_t start, int64_t n) noexcept nogil:
    # The position behind the sentence that begins at p[start]; n when it is the last one.
    cdef int64_t i = start, mark
    cdef uint32_t c, before = 0, earlier = 0
    cdef uint16_t f
    while i < n:
        c = decode(p, &i)
        if c == 10 or c == 13:
            return i
        f = flags_of(t, c)
        if f & (STOP | STOP_WIDE):
            mark = i
            while mark < n:
                i = mark
                if not flags_of(t, decode(p, &mark)) & (STOP | STOP_WIDE | CLOSER):
                    break
                i = mark
            # One capital and a full stop is an initial: A. Turing.
            if not (c == 46 and is_initial(t, before, earlier)) and breaks_here(t, p, i, n, (f & STOP_WIDE) != 0):
                return i
        earlier = before
        before = c
    return n


cdef bint is_initial(const Points* t, uint32_t before, uint32_t earlier) noexcept nogil:
    cdef uint16_t f = flags_of(t, before)
    return (f & WORD) != 0 and not f & (LOWER | DECIMAL) and not flags_of(t, earlier) & WORD


def split_sentences(Tables tables, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
    """Cut rows into sentences: (row of each sentence, its start, its stop: int64 each).

    A sentence ends at a line end, or behind a stop and its closing marks where white space follows (not needed for the
    wide CJK stops) and the next letter is not lower case; never behind one capital and a full stop. White space alone
    is no sentence, but a row always has at least one.
    """
    cdef int64_t n = starts.shape[0], r, i, end, first
    cdef list rows = [], begins = [], ends = []
    cdef const uint8_t* p = &buffer[0] if buffer.shape[0] else NULL
    for r in range(n):
        i = starts[r]
        first = len(rows)
        while i < stops[r]:
            end = end_of_sentence(&tables.points, p, i, stops[r])
            if not blank(&tables.points, p, i, end):
                rows.append(r)
                begins.append(i)
                ends.append(end)
            i = end
        if len(rows) == first:
            rows.append(r)
            begins.append(starts[r])
            ends.append(stops[r])
    return np.array(rows, np.int64), np.array(begins, np.int64), np.array(ends, np.int64)


cdef bint blank(const Points* t, const uint8_t* p, int64_t i, int64_t end) noexcept nogil:
    while i < end:
        if not flags_of(t, decode(p, &i)) & SPACE:
            return False
    return True


def split_labels(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, bytes prefix):
    """Where the label of ``__label__xx text`` lines ends: int64 per row, -1 where there is none."""
    cdef int64_t n = starts.shape[0], r, i, size = len(prefix)
    cdef const uint8_t* mark = prefix
    ends = np.full(n, -1, np.int64)
    cdef int64_t[::1] out = ends
    with nogil:
        for r in range(n):
            i = 0
            while i < size and starts[r] + i < stops[r] and buffer[starts[r] + i] == mark[i]:
                i += 1
            if i < size:
                continue
            i += starts[r]
            while i < stops[r] and buffer[i] != 32 and buffer[i] != 9:
                i += 1
            if i > starts[r] + size:
                out[r] = i
    return ends
