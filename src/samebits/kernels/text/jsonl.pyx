"""Strings out of JSON lines, without building a single Python object.

The kernel *accepts or passes*: a line is accepted only if it is one JSON object that every strict parser reads in
the same way and that has all wanted keys with string values. Anything else (an escape in a key, a lone surrogate, a
number of more than 18 characters, more than 64 levels, a missing key, plain errors) is left, untouched, to the slow
path in ``samebits.data.readers.json_rows``, which alone decides what is bad and why. So a doubt costs time, never a row.

Values are not copied. A string without escapes is a range of the input; one with escapes is unescaped in place,
which always fits, because an escape is longer than what it stands for. UTF-8 has been checked before.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

cdef enum:
    MAX_DEPTH = 64  # one bit of a word each: 1 for an object, 0 for an array
    MAX_NUMBER = 18  # characters; longer ones may be read as different values by different parsers

cdef extern from "json_strings.h" nogil:
    int64_t samebits_string_end(const uint8_t* p, int64_t i, int64_t n, int64_t room, int* escaped)
    int64_t samebits_string_end_wide(const uint8_t* p, int64_t i, int64_t n, int64_t room, int* escaped)
    int64_t samebits_unescape(uint8_t* p, int64_t start, int64_t stop)
    int64_t samebits_unescape_wide(uint8_t* p, int64_t start, int64_t stop)
    int samebits_is_wide()


cdef struct Whole:  # the buffer that a line is part of
    int64_t room  # bytes that can be read
    bint wide  # with AVX-512


cdef inline int64_t _string(const uint8_t* p, int64_t i, int64_t n, const Whole* whole, int* escaped) noexcept nogil:
    """Position of the quote that closes the string whose text starts at i, or -1."""
    if whole.wide:
        return samebits_string_end_wide(p, i, n, whole.room, escaped)
    return samebits_string_end(p, i, n, whole.room, escaped)


cdef inline int64_t _skip_space(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    while i < n and (p[i] == 32 or p[i] == 9 or p[i] == 13 or p[i] == 10):
        i += 1
    return i


cdef inline int64_t _digits(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    while i < n and 48 <= p[i] <= 57:
        i += 1
    return i


cdef int64_t _number(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Position after the number at i, or -1 for one that is malformed, long or of a large exponent."""
    cdef int64_t first = i, at
    if p[i] == 45:
        i += 1
    at = _digits(p, i, n)
    if at == i or (p[i] == 48 and at > i + 1):
        return -1
    i = at
    if i < n and p[i] == 46:
        at = _digits(p, i + 1, n)
        if at == i + 1:
            return -1
        i = at
    if i < n and (p[i] | 32) == 101:
        i += 1
        if i < n and (p[i] == 43 or p[i] == 45):
            i += 1
        at = _digits(p, i, n)
        if at == i or at > i + 2:
            return -1
        i = at
    return i if i - first <= MAX_NUMBER else -1


cdef int64_t _scalar(const uint8_t* p, int64_t i, int64_t n, const Whole* whole) noexcept nogil:
    """Position after the string, number or literal at i, or -1."""
    cdef int escaped
    cdef int64_t end
    if p[i] == 0x22:
        end = _string(p, i + 1, n, whole, &escaped)
        return -1 if end < 0 else end + 1
    if p[i] == 45 or 48 <= p[i] <= 57:
        return _number(p, i, n)
    if i + 4 <= n and (memcmp(p + i, b"true", 4) == 0 or memcmp(p + i, b"null", 4) == 0):
        return i + 4
    if i + 5 <= n and memcmp(p + i, b"false", 5) == 0:
        return i + 5
    return -1


cdef int64_t _key(const uint8_t* p, int64_t i, int64_t n, const Whole* whole) noexcept nogil:
    """Position of the value after the key at i and its colon, or -1."""
    cdef int escaped
    i = _skip_space(p, i, n)
    if i >= n or p[i] != 0x22:
        return -1
    i = _string(p, i + 1, n, whole, &escaped)
    if i < 0:
        return -1
    i = _skip_space(p, i + 1, n)
    if i >= n or p[i] != 58:
        return -1
    return _skip_space(p, i + 1, n)


cdef int64_t _value(const uint8_t* p, int64_t i, int64_t n, const Whole* whole) noexcept nogil:
    """Position after the value of any kind at i, or -1. ``kinds`` is the stack of open objects and arrays."""
    cdef uint64_t kinds = 0
    cdef int depth = 0
    cdef bint is_object
    while True:
        if i >= n:
            return -1
        if p[i] == 123 or p[i] == 91:  # { or [
            is_object = p[i] == 123
            if depth == MAX_DEPTH:
                return -1
            kinds = kinds << 1 | is_object
            depth += 1
            i = _skip_space(p, i + 1, n)
            if i >= n:
                return -1
            if p[i] != (125 if is_object else 93):
                if is_object:
                    i = _key(p, i, n, whole)
                    if i < 0:
                        return -1
                continue
        else:
            i = _scalar(p, i, n, whole)
            if i < 0:
                return -1
            if depth == 0:
                return i
            i = _skip_space(p, i, n)
        # Here i is at what follows a value (or an opening bracket): close as often as possible, or go on.
        while i < n and p[i] == (125 if kinds & 1 else 93):
            kinds >>= 1
            depth -= 1
            i += 1
            if depth == 0:
                return i
            i = _skip_space(p, i, n)
        if i >= n or p[i] != 44:
            return -1
        i = _key(p, i + 1, n, whole) if kinds & 1 else _skip_space(p, i + 1, n)
        if i < 0:
            return -1


cdef inline int64_t _wanted(
    const uint8_t* key, int64_t length, const uint8_t* keys, const int64_t* bounds, int64_t num_keys
) noexcept nogil:
    """Number of the wanted key with these bytes, or -1."""
    cdef int64_t k
    for k in range(num_keys):
        if bounds[k + 1] - bounds[k] == length and memcmp(key, keys + bounds[k], length) == 0:
            return k
    return -1


cdef bint _line(
    const uint8_t* p, int64_t i, int64_t n, const Whole* whole, const uint8_t* keys, const int64_t* bounds, int64_t num_keys,
    int64_t* starts, int64_t* stops, uint8_t* escapes, int64_t stride,
) noexcept nogil:
    """Read one object; fill in where each wanted value is. False leaves the line to the slow path."""
    cdef int64_t k, first, end, found = 0
    cdef int escaped
    for k in range(num_keys):
        starts[k * stride] = -1
    i = _skip_space(p, i, n)
    if i >= n or p[i] != 123:
        return False
    while True:
        i = _skip_space(p, i + 1, n)
        if i >= n or p[i] != 0x22:
            return False
        first = i + 1
        end = _string(p, first, n, whole, &escaped)
        if end < 0 or escaped:
            return False
        k = _wanted(p + first, end - first, keys, bounds, num_keys)
        i = _skip_space(p, end + 1, n)
        if i >= n or p[i] != 58:
            return False
        i = _skip_space(p, i + 1, n)
        if k < 0:
            i = _value(p, i, n, whole)
            if i < 0:
                return False
        else:
            if i >= n or p[i] != 0x22:
                return False
            end = _string(p, i + 1, n, whole, &escaped)
            if end < 0:
                return False
            found += starts[k * stride] < 0
            starts[k * stride] = i + 1
            stops[k * stride] = end
            escapes[k] = escaped
            i = end + 1
        i = _skip_space(p, i, n)
        if i >= n:
            return False
        if p[i] == 125:
            return found == num_keys and _skip_space(p, i + 1, n) == n
        if p[i] != 44:
            return False


cdef int64_t find_strings(
    uint8_t* p, int64_t room, const int64_t* starts, const int64_t* stops, const uint8_t* kinds, int64_t num,
    const uint8_t* keys, const int64_t* bounds, int64_t num_keys, bint wide,
    uint8_t* accepted, int64_t* first, int64_t* last,
) noexcept nogil:
    """Do what ``extract_strings`` says, with the keys one after the other; returns how many lines were accepted."""
    cdef uint8_t[64] escapes
    cdef int64_t i, k, total = 0
    cdef Whole whole
    whole.room, whole.wide = room, wide and samebits_is_wide()
    for i in range(num):
        if kinds[i] != 0:
            continue
        accepted[i] = _line(p, starts[i], stops[i], &whole, keys, bounds, num_keys, first + i, last + i, escapes, num)
        if not accepted[i]:
            continue
        total += 1
        for k in range(num_keys):
            if escapes[k] and whole.wide:
                last[k * num + i] = samebits_unescape_wide(p, first[k * num + i], last[k * num + i])
            elif escapes[k]:
                last[k * num + i] = samebits_unescape(p, first[k * num + i], last[k * num + i])
    return total


def extract_strings(
    uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] kinds,
    keys,
    bint wide=True,
):
    """Find the values of top-level ``keys`` in each line of kind 0.

    Args:
        data: The buffer; escaped strings of accepted lines are unescaped in it.
        starts: Where each line starts.
        stops: Where each line stops.
        kinds: Lines of another kind than 0 are left alone.
        keys: The wanted keys as UTF-8 bytes, all different, at most 64.
        wide: Use AVX-512 where the processor has it; the values are the same.

    Returns:
        ``(accepted, value_starts, value_stops)``: one byte a line, and two int64 arrays (keys, lines) with the place
        of each value, undefined where a line was not accepted.
    """
    import numpy as np  # not above, so that other kernels can use this one before it is imported

    cdef int64_t num = starts.shape[0], num_keys = len(keys)
    if not 1 <= num_keys <= 64:
        raise ValueError(f"1 to 64 keys, not {num_keys}")
    accepted_array = np.zeros(num, dtype=np.uint8)
    value_starts = np.empty((num_keys, num), dtype=np.int64)
    value_stops = np.empty((num_keys, num), dtype=np.int64)
    if num == 0 or data.shape[0] == 0:
        return accepted_array, value_starts, value_stops
    cdef const uint8_t[::1] joined = b"".join(keys) + b"\0"
    cdef const int64_t[::1] bounds = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    cdef uint8_t[::1] accepted = accepted_array
    cdef int64_t[:, ::1] first = value_starts, last = value_stops
    with nogil:
        find_strings(
            &data[0], data.shape[0], &starts[0], &stops[0], &kinds[0], num,
            &joined[0], &bounds[0], num_keys, wide, &accepted[0], &first[0, 0], &last[0, 0],
        )
    return accepted_array, value_starts, value_stops
