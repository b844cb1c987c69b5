"""One look at the bytes before anything is decided: controls, NUL lanes, and text without its markup."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize


cdef inline int sequence(const uint8_t* data, int64_t n, int64_t i) noexcept nogil:
    """Length of the UTF-8 character at i: 0 when it is none, -1 when the data ends within it."""
    cdef uint8_t a = data[i]
    cdef int length = 2 if 0xC2 <= a <= 0xDF else 3 if 0xE0 <= a <= 0xEF else 4 if 0xF0 <= a <= 0xF4 else 0, k
    for k in range(1, length):
        if i + k >= n:
            return -1
        if data[i + k] & 0xC0 != 0x80:
            return 0
        if k == 1 and ((a == 0xE0 and data[i + 1] < 0xA0) or (a == 0xED and data[i + 1] > 0x9F)
                       or (a == 0xF0 and data[i + 1] < 0x90) or (a == 0xF4 and data[i + 1] > 0x8F)):
            return 0
    return length


def utf8_counts(const uint8_t[::1] data not None):
    """Characters beyond ASCII if data is UTF-8: (whole ones, bytes that are in none, whether the last is cut)."""
    cdef int64_t n = data.shape[0], i = 0, whole = 0, broken = 0
    cdef int length = 0
    with nogil:
        while i < n:
            if data[i] < 0x80:
                i += 1
                continue
            length = sequence(&data[0], n, i)
            if length < 0:
                break
            whole += length > 0
            broken += length == 0
            i += length if length else 1
    return whole, broken, length < 0


def first_high(const uint8_t[::1] data not None):
    """Where the first byte from 0x80 up stands; the length of the data when there is none."""
    cdef int64_t n = data.shape[0], i = 0
    while i < n and data[i] < 0x80:
        i += 1
    return i


def survey(const uint8_t[::1] data not None):
    """Count what decides which encodings are possible: (high, controls, nuls, lane ratio).

    The lane ratio compares how often two bytes in even places are equal with the same for odd places, times 100: about
    100 for encodings of one byte, far from it where every other byte names a script.
    """
    cdef int64_t n = data.shape[0], i, high = 0, controls = 0, nuls = 0, even = 0, odd = 0, m
    cdef int64_t lanes[2][256]
    cdef uint8_t b
    memset(lanes, 0, sizeof(lanes))
    m = min(n, 4096)
    with nogil:
        for i in range(n):
            b = data[i]
            high += b >= 0x80
            if b < 0x20 and not (9 <= b <= 13) and b != 0x1B:
                controls += 1
                if b == 0:
                    nuls += 1
        for i in range(m):
            lanes[i & 1][data[i]] += 1
        for i in range(256):
            even += lanes[0][i] * lanes[0][i]
            odd += lanes[1][i] * lanes[1][i]
    ratio = 100 * even // odd if even > odd > 0 else 100 * odd // even if even else 100
    return high, controls, nuls, ratio


cdef inline int64_t find_end(const uint8_t* data, int64_t n, int64_t i, const char* name, int length) noexcept nogil:
    """Where the closing tag of a script or style element starts, or n."""
    cdef int64_t j
    cdef int k
    for j in range(i, n - length - 1):
        if data[j] == 60 and data[j + 1] == 47:
            for k in range(length):
                if (data[j + 2 + k] | 0x20) != <uint8_t> name[k]:
                    break
            else:
                return j
    return n


cdef inline bint opens(const uint8_t* data, int64_t n, int64_t i, const char* name, int length) noexcept nogil:
    cdef int k
    if i + length + 1 >= n:
        return False
    for k in range(length):
        if (data[i + 1 + k] | 0x20) != <uint8_t> name[k]:
            return False
    return not (97 <= (data[i + 1 + length] | 0x20) <= 122)


def without_markup(const uint8_t[::1] data not None):
    """The text between tags, without scripts and styles; tags and entities become one space each."""
    cdef int64_t n = data.shape[0], i = 0, out = 0, j
    cdef bytes result = PyBytes_FromStringAndSize(NULL, n)
    cdef uint8_t* target = <uint8_t*> PyBytes_AS_STRING(result)
    cdef uint8_t b
    with nogil:
        while i < n:
            b = data[i]
            if b == 60 and i + 1 < n and ((97 <= (data[i + 1] | 0x20) <= 122) or data[i + 1] in (33, 47, 63)):
                if opens(&data[0], n, i, b"script", 6):
                    i = find_end(&data[0], n, i, b"script", 6)
                elif opens(&data[0], n, i, b"style", 5):
                    i = find_end(&data[0], n, i, b"style", 5)
                j = i + 1
                while j < n and data[j] != 62:
                    j += 1
                i = j + 1
                target[out] = 32
                out += 1
            elif b == 38:
                j = i + 1
                while j < n and j < i + 10 and ((97 <= (data[j] | 0x20) <= 122) or 48 <= data[j] <= 57 or data[j] == 35):
                    j += 1
                if j < n and data[j] == 59 and j > i + 1:
                    target[out] = 32
                    i = j + 1
                else:
                    target[out] = b
                    i += 1
                out += 1
            else:
                target[out] = b
                out += 1
                i += 1
    return result[:out]
