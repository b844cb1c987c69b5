"""Records and fields of comma- or tab-separated text, as RFC 4180 and Python's ``csv`` read them.

A field that starts with a quote goes to the closing quote and may hold delimiters and newlines; a doubled quote in it
is one quote. A quote anywhere else is a plain character. Records end with LF or CR LF.

``scan_records`` walks five states byte by byte and can stop and go on anywhere, so a file can be cut at any byte once
the state there is known. Counting quotes would be faster but only right for files whose every quote is paired: one
inch mark (``5"``) in a plain field would turn the rest of the file inside out.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memmove

import numpy as np

cdef enum:
    AT_RECORD = 0  # a record starts here
    AT_FIELD = 1  # a field starts here
    PLAIN = 2  # inside a field without quotes, or after a closing quote
    QUOTED = 3  # inside quotes
    AFTER_QUOTE = 4  # after a quote inside quotes: the end, or the first of two

cdef enum:
    LF = 10
    CR = 13
    QUOTE = 34

# What extract_fields says of a record.
FINE = 0
WRONG_COUNT = 1
TEXT_AFTER_QUOTE = 2
OPEN_QUOTE = 3


cdef int64_t _next_record(
    const uint8_t* p, int64_t i, int64_t n, uint8_t delimiter, int* state
) noexcept nogil:
    """Position after the first newline in [i, n) that ends a record, or n + 1; leaves the state at that point."""
    cdef int now = state[0]
    cdef const uint8_t* hit
    cdef uint8_t c
    while i < n:
        if now == QUOTED:
            hit = <const uint8_t*> memchr(p + i, QUOTE, n - i)
            if hit == NULL:
                break
            i = hit - p + 1
            now = AFTER_QUOTE
            continue
        if now == PLAIN:
            while i < n and p[i] != LF and p[i] != delimiter:
                i += 1
            if i == n:
                break
        c = p[i]
        i += 1
        if c == LF:
            state[0] = AT_RECORD
            return i
        if c == delimiter:
            now = AT_FIELD
        elif c == QUOTE and now != PLAIN:
            now = QUOTED  # opening, or the second of two
        else:
            now = PLAIN
    state[0] = now
    return n + 1


def scan_records(const uint8_t[::1] data, int64_t start, int64_t stop, int state, int delimiter):
    """Walk ``[start, stop)`` from a state.

    Returns:
        ``(state, first, last)``: the state at ``stop``, and the first and last position after a newline that ends a
        record, 0 where there is none.
    """
    cdef int64_t at = start, first = 0, last = 0
    cdef int now = state
    if start >= stop:
        return state, 0, 0
    with nogil:
        while True:
            at = _next_record(&data[0], at, stop, <uint8_t> delimiter, &now)
            if at > stop:
                break
            last = at
            if first == 0:
                first = at
    return now, first, last


def split_records(const uint8_t[::1] data, int64_t start, int64_t stop, int delimiter):
    """Return ``(starts, stops)`` of the records in ``[start, stop)``, without their LF or CR LF; one starts at start."""
    cdef int64_t num = 0, room = 0, at = start, end, next_at
    cdef int state = AT_RECORD
    if start < stop:
        with nogil:
            for at in range(start, stop):
                room += data[at] == LF
        room += 1
    starts_array = np.empty(room, dtype=np.int64)
    stops_array = np.empty(room, dtype=np.int64)
    cdef int64_t[::1] starts = starts_array, stops = stops_array
    if start < stop:
        with nogil:
            at = start
            while at < stop:
                next_at = _next_record(&data[0], at, stop, <uint8_t> delimiter, &state)
                end = stop if next_at > stop else next_at - 1
                starts[num] = at
                stops[num] = end - 1 if end < stop and end > at and data[end - 1] == CR else end
                num += 1
                at = next_at
    return starts_array[:num].copy(), stops_array[:num].copy()


cdef int64_t _undouble(uint8_t* p, int64_t start, int64_t stop) noexcept nogil:
    """Make each doubled quote one, in place; return where the field stops now."""
    cdef int64_t i = start, out = start, run
    cdef uint8_t* hit
    while i < stop:
        hit = <uint8_t*> memchr(p + i, QUOTE, stop - i)
        run = stop - i if hit == NULL else hit - (p + i) + 1
        memmove(p + out, p + i, run)
        out += run
        i += run + 1  # the second quote of a pair
    return out


cdef int _fields(
    const uint8_t* p, int64_t i, int64_t n, uint8_t delimiter, const int64_t* column_of, int64_t num_fields,
    int64_t* starts, int64_t* stops, uint8_t* doubled, int64_t stride, int64_t* count,
) noexcept nogil:
    """Find the fields of one record; column_of[f] is where field f is wanted, or -1."""
    cdef int64_t field = 0, first, end, k
    cdef bint has_double
    cdef const uint8_t* hit
    while True:
        has_double = False
        if i < n and p[i] == QUOTE:
            first = i + 1
            i = first
            while True:
                hit = <const uint8_t*> memchr(p + i, QUOTE, n - i) if i < n else NULL
                if hit == NULL:
                    return 3
                end = hit - p
                i = end + 1
                if i == n or p[i] != QUOTE:
                    break
                has_double = True
                i += 1
            if i < n and p[i] != delimiter:
                return 2
        else:
            first = i
            while i < n and p[i] != delimiter:
                i += 1
            end = i
        if field < num_fields and column_of[field] >= 0:
            k = column_of[field]
            starts[k * stride] = first
            stops[k * stride] = end
            doubled[k] = has_double
        field += 1
        if i >= n:
            count[0] = field
            return 0 if field == num_fields else 1
        i += 1


def extract_fields(
    uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] kinds,
    int delimiter,
    const int64_t[::1] column_of,
    int64_t num_columns,
):
    """Find the wanted fields of each record of kind 0.

    Args:
        data: The buffer; doubled quotes in wanted fields are made single in it.
        starts: Where each record starts.
        stops: Where each record stops.
        kinds: Records of another kind than 0 are left alone.
        delimiter: The byte between fields.
        column_of: For each field of a record the column it goes to, or -1.
        num_columns: How many columns are wanted, at most 64.

    Returns:
        ``(faults, counts, value_starts, value_stops)``: FINE or what is wrong with each record, its number of fields
        where that is what is wrong, and two int64 arrays (columns, records) with the place of each value.
    """
    cdef int64_t num = starts.shape[0], i, k
    cdef uint8_t[64] doubled
    if not 1 <= num_columns <= 64:
        raise ValueError(f"1 to 64 columns, not {num_columns}")
    faults_array = np.zeros(num, dtype=np.uint8)
    counts_array = np.zeros(num, dtype=np.int64)
    value_starts = np.empty((num_columns, num), dtype=np.int64)
    value_stops = np.empty((num_columns, num), dtype=np.int64)
    if num == 0 or data.shape[0] == 0:
        return faults_array, counts_array, value_starts, value_stops
    cdef uint8_t[::1] faults = faults_array
    cdef int64_t[::1] counts = counts_array
    cdef int64_t[:, ::1] first = value_starts, last = value_stops
    cdef uint8_t* p = &data[0]
    with nogil:
        for i in range(num):
            if kinds[i] != 0:
                continue
            faults[i] = _fields(
                p, starts[i], stops[i], <uint8_t> delimiter, &column_of[0], column_of.shape[0],
                &first[0, i], &last[0, i], doubled, num, &counts[i],
            )
            if faults[i] == 0:
                for k in range(num_columns):
                    if doubled[k]:
                        last[k, i] = _undouble(p, first[k, i], last[k, i])
    return faults_array, counts_array, value_starts, value_stops
