# cython: language_level=3
"""Counts by key as JSON lines, straight from the bytes of the keys: no Python object a row."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

import numpy as np

# 0: written as it is; 1: \u00XX; anything else: the letter after the backslash
cdef uint8_t[256] ESCAPE
for _byte in range(256):
    ESCAPE[_byte] = 1 if _byte < 0x20 else 0
for _byte, _letter in zip(b'"\\\b\f\n\r\t', b'"\\bfnrt'):
    ESCAPE[_byte] = _letter

cdef const uint8_t* HEX = b"0123456789abcdef"
DEF MOST_DIGITS = 20


cdef inline uint8_t* put_key(uint8_t* to, const uint8_t* key, int64_t size) noexcept nogil:
    cdef int64_t i
    cdef uint8_t kind
    for i in range(size):
        kind = ESCAPE[key[i]]
        if kind == 0:
            to[0] = key[i]
            to += 1
            continue
        to[0] = 0x5C
        if kind == 1:
            to[1] = 0x75
            to[2] = to[3] = 0x30
            to[4] = HEX[key[i] >> 4]
            to[5] = HEX[key[i] & 15]
            to += 6
        else:
            to[1] = kind
            to += 2
    return to


cdef inline uint8_t* put_number(uint8_t* to, int64_t number) noexcept nogil:
    cdef uint8_t[MOST_DIGITS] digits
    cdef int at = MOST_DIGITS
    while True:
        at -= 1
        digits[at] = 0x30 + <uint8_t>(number % 10)
        number //= 10
        if number == 0:
            break
    memcpy(to, digits + at, MOST_DIGITS - at)
    return to + (MOST_DIGITS - at)


def count_lines(
    const uint8_t[::1] keys,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    const int64_t[::1] order,
    bytes key_name not None,
    bytes count_name not None,
):
    """Return one ``{"key_name":"...","count_name":N}`` a line, as uint8.

    Args:
        keys: Valid UTF-8 of all keys, one after the other.
        offsets: Key i is ``keys[offsets[i]:offsets[i + 1]]``.
        counts: From 0 up.
        order: Which keys, in which order.
        key_name: Name of the first member, without anything that JSON escapes.
        count_name: Name of the second.
    """
    cdef bytes head = b'{"' + key_name + b'":"'
    cdef bytes middle = b'","' + count_name + b'":'
    cdef const uint8_t* head_at = head
    cdef const uint8_t* middle_at = middle
    cdef const uint8_t* base = NULL
    cdef int64_t head_size = len(head), middle_size = len(middle)
    cdef int64_t room = order.shape[0] * (head_size + middle_size + MOST_DIGITS + 2)
    cdef int64_t row, i, j
    cdef uint8_t* to
    if order.shape[0] == 0:
        return np.empty(0, dtype=np.uint8)
    if keys.shape[0]:
        base = &keys[0]
    with nogil:
        for row in range(order.shape[0]):
            i = order[row]
            room += offsets[i + 1] - offsets[i]
            for j in range(offsets[i], offsets[i + 1]):
                if ESCAPE[base[j]]:
                    room += 5
    out = np.empty(room, dtype=np.uint8)
    cdef uint8_t[::1] view = out
    to = &view[0]
    with nogil:
        for row in range(order.shape[0]):
            i = order[row]
            memcpy(to, head_at, head_size)
            to = put_key(to + head_size, base + offsets[i], offsets[i + 1] - offsets[i])
            memcpy(to, middle_at, middle_size)
            to = put_number(to + middle_size, counts[i])
            to[0] = 0x7D
            to[1] = 0x0A
            to += 2
    return out[: to - &view[0]]
