"""Decode UTF-8 one character at a time; inlined into every kernel that reads text."""

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef inline uint32_t next_char(const uint8_t* text, int64_t* position, int64_t stop) noexcept nogil:
    """Decode one character; the text is valid UTF-8, and even damaged bytes cannot lead outside it."""
    cdef int64_t i = position[0]
    cdef uint32_t b = text[i]
    cdef uint32_t c
    if b < 0x80:
        position[0] = i + 1
        return b
    if b < 0xE0:
        if i + 2 > stop:
            position[0] = stop
            return 0xFFFD
        position[0] = i + 2
        return ((b & 31) << 6) | (text[i + 1] & 63)
    if b < 0xF0:
        if i + 3 > stop:
            position[0] = stop
            return 0xFFFD
        position[0] = i + 3
        return ((b & 15) << 12) | ((text[i + 1] & 63) << 6) | (text[i + 2] & 63)
    if i + 4 > stop:
        position[0] = stop
        return 0xFFFD
    position[0] = i + 4
    c = ((b & 7) << 18) | ((text[i + 1] & 63) << 12) | ((text[i + 2] & 63) << 6) | (text[i + 3] & 63)
    return c if c < 0x110000 else 0xFFFD
