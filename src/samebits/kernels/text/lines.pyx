"""Lines of a byte buffer: where they start and stop, and which of them hold valid UTF-8.

Every function takes a buffer and int64 positions and runs its loop without the GIL, so threads scan their cells
at the same time. Nothing is copied and nothing is decided here: what a bad or blank line means is the reader's
business (``samebits.data.readers.rows``).
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcpy

# What classify_lines says of a line; samebits.data.readers.parse adds its own verdicts above these.
TEXT = 0
BLANK = 1
INVALID = 2

cdef enum:
    LONG_LINE = 128  # bytes after which memchr() looks for the end of a line

cdef uint64_t ONES = 0x0101010101010101
cdef uint64_t NEWLINES = 0x0A0A0A0A0A0A0A0A
cdef uint64_t HIGH_BITS = 0x8080808080808080


cdef int64_t _find_newline(const uint8_t* data, int64_t start, int64_t stop) noexcept nogil:
    """Position of the first newline in [start, stop), or ``stop``."""
    cdef const uint8_t* hit
    if start >= stop:
        return stop
    hit = <const uint8_t*> memchr(data + start, 10, stop - start)
    return stop if hit == NULL else hit - data


cdef int64_t _count_newlines(const uint8_t* data, int64_t start, int64_t stop) noexcept nogil:
    """Newlines in [start, stop): sums of 240 bytes fit a byte, so the compiler keeps 16 counters in a register."""
    cdef int64_t total = 0, i = start, j
    cdef uint8_t[16] sums
    cdef int k, turn
    while i + 240 <= stop:
        for k in range(16):
            sums[k] = 0
        for turn in range(15):
            for k in range(16):
                sums[k] += data[i + 16 * turn + k] == 10
        for k in range(16):
            total += sums[k]
        i += 240
    for j in range(i, stop):
        total += data[j] == 10
    return total


cdef int64_t _find_invalid(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Start of the first sequence in [i, n) that ``bytes.decode("utf-8")`` refuses, or ``n``."""
    cdef uint64_t a, b
    cdef uint8_t c, second
    while i < n:
        c = p[i]
        if c < 0x80:
            while i + 16 <= n:
                memcpy(&a, p + i, 8)
                memcpy(&b, p + i + 8, 8)
                if (a | b) & HIGH_BITS:
                    break
                i += 16
            while i < n and p[i] < 0x80:
                i += 1
        elif c < 0xC2:  # a continuation byte alone, or an overlong two-byte form
            return i
        elif c < 0xE0:
            if i + 2 > n or (p[i + 1] & 0xC0) != 0x80:
                return i
            i += 2
        elif c < 0xF0:
            if i + 3 > n or (p[i + 1] & 0xC0) != 0x80 or (p[i + 2] & 0xC0) != 0x80:
                return i
            second = p[i + 1]
            if (c == 0xE0 and second < 0xA0) or (c == 0xED and second > 0x9F):  # overlong; surrogate
                return i
            i += 3
        elif c < 0xF5:
            if i + 4 > n or (p[i + 1] & 0xC0) != 0x80 or (p[i + 2] & 0xC0) != 0x80 or (p[i + 3] & 0xC0) != 0x80:
                return i
            second = p[i + 1]
            if (c == 0xF0 and second < 0x90) or (c == 0xF4 and second > 0x8F):  # overlong; above U+10FFFF
                return i
            i += 4
        else:
            return i
    return n


cdef inline void _put_line(
    const uint8_t* data, int64_t start, int64_t end, int64_t line, int64_t* starts, int64_t* stops
) noexcept nogil:
    starts[line] = start
    stops[line] = end - 1 if end > start and data[end - 1] == 13 else end


cdef void _fill_lines(
    const uint8_t* data, int64_t start, int64_t stop, int64_t* starts, int64_t* stops
) noexcept nogil:
    """Fill in all lines. Eight bytes at a time first: a memchr() call a line costs more than a short line itself."""
    cdef int64_t i = start, j, line = 0
    cdef uint64_t w
    while i < stop:
        if i - start >= LONG_LINE:
            i = _find_newline(data, i, stop)
        if i + 8 <= stop:
            memcpy(&w, data + i, 8)
            w ^= NEWLINES
            if ((w - ONES) & ~w & HIGH_BITS) == 0:  # no byte of w is zero
                i += 8
                continue
        for j in range(i, min(i + 8, stop)):
            if data[j] == 10:
                _put_line(data, start, j, line, starts, stops)
                line += 1
                start = j + 1
        i += 8
    if start < stop:
        starts[line] = start
        stops[line] = stop


cdef void _classify(
    const uint8_t* data, const int64_t* starts, const int64_t* stops, int64_t num, uint8_t* kinds
) noexcept nogil:
    cdef int64_t i, j, at, start, end
    for i in range(num):
        j = starts[i]
        while j < stops[i] and (data[j] == 32 or data[j] == 9):
            j += 1
        kinds[i] = 1 if j == stops[i] else 0
    # What lies between two lines is CR and LF: one pass over the whole range gives the verdict of every line.
    i = 0
    start = starts[0]
    end = stops[num - 1]
    while start < end:
        at = _find_invalid(data, start, end)
        if at == end:
            return
        while stops[i] <= at:
            i += 1
        kinds[i] = 2
        if i + 1 == num:
            return
        start = starts[i + 1]


def find_newline(const uint8_t[::1] data, int64_t start, int64_t stop):
    """Return the position of the first newline in ``[start, stop)``, or ``stop``."""
    cdef int64_t found
    if start >= stop:
        return stop
    with nogil:
        found = _find_newline(&data[0], start, stop)
    return found


def line_start(const uint8_t[::1] data, int64_t start, int64_t stop):
    """Return where the line that holds ``stop`` starts: after the last newline in ``[start, stop)``, or ``start``."""
    cdef int64_t at = stop
    with nogil:
        while at > start and data[at - 1] != 10:
            at -= 1
    return at if at > start else start


def count_newlines(const uint8_t[::1] data, int64_t start, int64_t stop):
    """Return how many newlines ``[start, stop)`` holds."""
    cdef int64_t total
    if start >= stop:
        return 0
    with nogil:
        total = _count_newlines(&data[0], start, stop)
    return total


def split_lines(const uint8_t[::1] data, int64_t start, int64_t stop):
    """Return ``(starts, stops)`` of the lines in ``[start, stop)``, without their LF or CR LF.

    A last line without a newline counts; nothing follows a final newline. A CR not before an LF is text.
    """
    import numpy as np  # not here, so that other functions can be used before it is imported

    cdef int64_t num = 0
    cdef int64_t[::1] starts, stops
    if start < stop:
        with nogil:
            num = _count_newlines(&data[0], start, stop) + (data[stop - 1] != 10)
    starts_array = np.empty(num, dtype=np.int64)
    stops_array = np.empty(num, dtype=np.int64)
    if num:
        starts = starts_array
        stops = stops_array
        with nogil:
            _fill_lines(&data[0], start, stop, &starts[0], &stops[0])
    return starts_array, stops_array


def classify_lines(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops):
    """Return one byte a line: TEXT, BLANK (nothing but spaces and tabs) or INVALID (not UTF-8).

    The lines must be in order, and everything between one line's stop and the next one's start must be ASCII:
    what ``split_lines`` and ``split_records`` give.
    """
    import numpy as np

    cdef int64_t num = starts.shape[0]
    cdef uint8_t[::1] kinds
    kinds_array = np.empty(num, dtype=np.uint8)
    if num and data.shape[0]:
        kinds = kinds_array
        with nogil:
            _classify(&data[0], &starts[0], &stops[0], num, &kinds[0])
    elif num:
        kinds_array[:] = BLANK
    return kinds_array


def find_invalid(const uint8_t[::1] data, int64_t start, int64_t stop):
    """Return where the first invalid UTF-8 sequence of ``[start, stop)`` starts, or ``stop``."""
    cdef int64_t found
    if start >= stop:
        return stop
    with nogil:
        found = _find_invalid(&data[0], start, stop)
    return found
