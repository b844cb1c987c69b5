"""Strings out of JSON lines, without building a single Python object.

The kernel *accepts or passes*: a line is accepted only if it is one JSON object that every strict parser reads in
the same way and that has all wanted keys with string values. Anything else (an escape in a key, a lone surrogate, a
number of more than 18 characters, more than 64 levels, a missing key, plain errors) is left, untouched, to the slow
path in ``samebits.data.readers.json_rows``, which alone decides what is bad and why. So a doubt costs time, never a row.

Values are not copied. A string without escapes is a range of the input; one with escapes is unescaped in place,
which always fits, because an escape is longer than what it stands for. UTF-8 has been checked before.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

import numpy as np

cdef enum:
    MAX_DEPTH = 64  # one bit of a word each: 1 for an object, 0 for an array
    MAX_NUMBER = 18  # characters; longer ones may be read as different values by different parsers

cdef extern from *:
    int COUNT_ZEROS "__builtin_ctzll"(uint64_t x) noexcept nogil

cdef uint64_t ONES = 0x0101010101010101
cdef uint64_t TOPS = 0x8080808080808080

cdef uint8_t[256] MEANING  # of the character after a backslash; 0 where JSON knows no such escape
MEANING[0x22], MEANING[0x5C], MEANING[47] = 0x22, 0x5C, 47  # quote, backslash, slash
MEANING[98], MEANING[102], MEANING[110], MEANING[114], MEANING[116] = 8, 12, 10, 13, 9  # b f n r t


cdef inline int64_t _skip_space(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    while i < n and (p[i] == 32 or p[i] == 9 or p[i] == 13 or p[i] == 10):
        i += 1
    return i


cdef inline int _hex(uint8_t c) noexcept nogil:
    if 48 <= c <= 57:
        return c - 48
    c |= 32
    if 97 <= c <= 102:
        return c - 87
    return -1


cdef inline int64_t _code_unit(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Value of the four hexadecimal digits at i, or -1."""
    cdef int64_t value = 0
    cdef int k, digit
    if i + 4 > n:
        return -1
    for k in range(4):
        digit = _hex(p[i + k])
        if digit < 0:
            return -1
        value = value * 16 + digit
    return value


cdef inline int64_t _plain_run(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """First position from i that holds a quote, a backslash or a control character; n if none does."""
    cdef uint64_t w, quote, slash, hits
    while i + 8 <= n:
        memcpy(&w, p + i, 8)
        quote = w ^ (ONES * 0x22)
        slash = w ^ (ONES * 0x5C)
        # The classic tests for a zero byte and for a byte below 0x20, eight bytes at a time: the lowest hit is exact.
        hits = ((quote - ONES) & ~quote | (slash - ONES) & ~slash | (w - ONES * 0x20) & ~w) & TOPS
        if hits:
            return i + (COUNT_ZEROS(hits) >> 3)
        i += 8
    while i < n and p[i] != 0x22 and p[i] != 0x5C and p[i] >= 0x20:
        i += 1
    return i


cdef int64_t _string(const uint8_t* p, int64_t i, int64_t n, bint* escaped) noexcept nogil:
    """Position of the quote that closes the string whose text starts at i, or -1."""
    cdef int64_t unit
    escaped[0] = False
    while True:
        i = _plain_run(p, i, n)
        if i >= n or p[i] < 0x20:
            return -1
        if p[i] == 0x22:
            return i
        escaped[0] = True
        if i + 1 >= n:
            return -1
        if p[i + 1] == 117:  # \u
            unit = _code_unit(p, i + 2, n)
            if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                return -1
            i += 6
            if 0xD800 <= unit <= 0xDBFF:
                if i + 6 > n or p[i] != 0x5C or p[i + 1] != 117:
                    return -1
                unit = _code_unit(p, i + 2, n)
                if not 0xDC00 <= unit <= 0xDFFF:
                    return -1
                i += 6
        elif MEANING[p[i + 1]]:
            i += 2
        else:
            return -1


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


cdef int64_t _scalar(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Position after the string, number or literal at i, or -1."""
    cdef bint escaped
    cdef int64_t end
    if p[i] == 0x22:
        end = _string(p, i + 1, n, &escaped)
        return -1 if end < 0 else end + 1
    if p[i] == 45 or 48 <= p[i] <= 57:
        return _number(p, i, n)
    if i + 4 <= n and (memcmp(p + i, b"true", 4) == 0 or memcmp(p + i, b"null", 4) == 0):
        return i + 4
    if i + 5 <= n and memcmp(p + i, b"false", 5) == 0:
        return i + 5
    return -1


cdef int64_t _key(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Position of the value after the key at i and its colon, or -1."""
    cdef bint escaped
    i = _skip_space(p, i, n)
    if i >= n or p[i] != 0x22:
        return -1
    i = _string(p, i + 1, n, &escaped)
    if i < 0:
        return -1
    i = _skip_space(p, i + 1, n)
    if i >= n or p[i] != 58:
        return -1
    return _skip_space(p, i + 1, n)


cdef int64_t _value(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
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
                    i = _key(p, i, n)
                    if i < 0:
                        return -1
                continue
        else:
            i = _scalar(p, i, n)
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
        i = _key(p, i + 1, n) if kinds & 1 else _skip_space(p, i + 1, n)
        if i < 0:
            return -1


cdef int64_t _move_run(uint8_t* p, int64_t* position, int64_t stop, int64_t out) noexcept nogil:
    """Move what lies before the next backslash, where ``position`` is left, to ``out``; return where it stops there.

    Runs are short, some 30 bytes of code, and calls of memchr and memmove would cost more than the bytes. Eight are
    moved before it is known how many count, which is safe once ``out`` is eight bytes behind.
    """
    cdef int64_t i = position[0], run
    cdef uint64_t w, slash, hits
    cdef uint8_t* hit
    if i - out < 8:
        hit = <uint8_t*> memchr(p + i, 0x5C, stop - i)
        run = stop - i if hit == NULL else hit - (p + i)
        memmove(p + out, p + i, run)
        position[0] = i + run
        return out + run
    while i + 8 <= stop:
        memcpy(&w, p + i, 8)
        memcpy(p + out, &w, 8)
        slash = w ^ (ONES * 0x5C)
        hits = (slash - ONES) & ~slash & TOPS
        if hits:
            run = COUNT_ZEROS(hits) >> 3
            position[0] = i + run
            return out + run
        i += 8
        out += 8
    while i < stop and p[i] != 0x5C:
        p[out] = p[i]
        i += 1
        out += 1
    position[0] = i
    return out


cdef int64_t _unescape(uint8_t* p, int64_t start, int64_t stop) noexcept nogil:
    """Replace the escapes of a checked string in place; return where it stops now."""
    cdef int64_t i = start, out = start
    cdef uint32_t code
    cdef uint8_t c
    while True:
        out = _move_run(p, &i, stop, out)
        if i >= stop:
            return out
        c = p[i + 1]
        i += 2
        if c != 117:
            p[out] = MEANING[c]
            out += 1
            continue
        code = <uint32_t> _code_unit(p, i, stop)
        i += 4
        if 0xD800 <= code <= 0xDBFF:
            code = 0x10000 + ((code - 0xD800) << 10) + (<uint32_t> _code_unit(p, i + 2, stop) - 0xDC00)
            i += 6
        out = _put(p, out, code)


cdef int64_t _put(uint8_t* p, int64_t out, uint32_t code) noexcept nogil:
    """Write one code point as UTF-8; return the position after it."""
    if code < 0x80:
        p[out] = code
        return out + 1
    if code < 0x800:
        p[out] = 0xC0 | code >> 6
        p[out + 1] = 0x80 | code & 0x3F
        return out + 2
    if code < 0x10000:
        p[out] = 0xE0 | code >> 12
        p[out + 1] = 0x80 | code >> 6 & 0x3F
        p[out + 2] = 0x80 | code & 0x3F
        return out + 3
    p[out] = 0xF0 | code >> 18
    p[out + 1] = 0x80 | code >> 12 & 0x3F
    p[out + 2] = 0x80 | code >> 6 & 0x3F
    p[out + 3] = 0x80 | code & 0x3F
    return out + 4


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
    const uint8_t* p, int64_t i, int64_t n, const uint8_t* keys, const int64_t* bounds, int64_t num_keys,
    int64_t* starts, int64_t* stops, uint8_t* escapes, int64_t stride,
) noexcept nogil:
    """Read one object; fill in where each wanted value is. False leaves the line to the slow path."""
    cdef int64_t k, first, end, found = 0
    cdef bint escaped
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
        end = _string(p, first, n, &escaped)
        if end < 0 or escaped:
            return False
        k = _wanted(p + first, end - first, keys, bounds, num_keys)
        i = _skip_space(p, end + 1, n)
        if i >= n or p[i] != 58:
            return False
        i = _skip_space(p, i + 1, n)
        if k < 0:
            i = _value(p, i, n)
            if i < 0:
                return False
        else:
            if i >= n or p[i] != 0x22:
                return False
            end = _string(p, i + 1, n, &escaped)
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


def extract_strings(
    uint8_t[::1] data,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] kinds,
    keys,
):
    """Find the values of top-level ``keys`` in each line of kind 0.

    Args:
        data: The buffer; escaped strings of accepted lines are unescaped in it.
        starts: Where each line starts.
        stops: Where each line stops.
        kinds: Lines of another kind than 0 are left alone.
        keys: The wanted keys as UTF-8 bytes, all different, at most 64.

    Returns:
        ``(accepted, value_starts, value_stops)``: one byte a line, and two int64 arrays (keys, lines) with the place
        of each value, undefined where a line was not accepted.
    """
    cdef int64_t num = starts.shape[0], num_keys = len(keys), i, k
    cdef uint8_t[64] escapes
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
    cdef uint8_t* p = &data[0]
    with nogil:
        for i in range(num):
            if kinds[i] != 0:
                continue
            accepted[i] = _line(
                p, starts[i], stops[i], &joined[0], &bounds[0], num_keys, &first[0, i], &last[0, i], escapes, num
            )
            if accepted[i]:
                for k in range(num_keys):
                    if escapes[k]:
                        last[k, i] = _unescape(p, first[k, i], last[k, i])
    return accepted_array, value_starts, value_stops
