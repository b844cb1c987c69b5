"""Code point look-ups shared by the langid kernels, inlined.

The bits of ``flags`` are named in dev/make_langid_tables.py, which writes the tables.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    WORD = 1
    DECIMAL = 2
    SPACE = 4
    ALNUM = 8
    EMOJI = 16
    DECOMPOSES = 32
    CASED = 64
    IGNORABLE = 128
    COMPOSES = 256
    LOWER = 512
    CLOSER = 1024
    STOP = 2048
    STOP_WIDE = 4096

cdef struct Points:
    # Pointers into the arrays a Tables object keeps alive.
    const uint16_t* stage1
    const uint16_t* stage2
    const uint16_t* flags
    const uint8_t* script
    const uint64_t* keep
    const uint8_t* ccc
    const int32_t* lower
    const int32_t* fold
    const uint16_t* nfd_start
    const uint8_t* nfd_length
    const uint32_t* nfd
    const uint64_t* pairs
    const uint32_t* composed
    int64_t num_pairs

cdef class Tables:
    cdef Points points
    cdef tuple arrays

cdef inline uint32_t record_of(const Points* t, uint32_t c) noexcept nogil:
    return t.stage2[(<uint32_t>t.stage1[c >> 7] << 7) | (c & 127)]

cdef inline uint16_t flags_of(const Points* t, uint32_t c) noexcept nogil:
    return t.flags[record_of(t, c)]

cdef inline uint32_t decode(const uint8_t* p, int64_t* i) noexcept nogil:
    # The caller passes valid UTF-8: the readers check it once.
    cdef uint32_t c = p[i[0]]
    if c < 0x80:
        i[0] += 1
    elif c < 0xE0:
        c = ((c & 31) << 6) | (p[i[0] + 1] & 63)
        i[0] += 2
    elif c < 0xF0:
        c = ((c & 15) << 12) | ((<uint32_t>p[i[0] + 1] & 63) << 6) | (p[i[0] + 2] & 63)
        i[0] += 3
    else:
        c = (((c & 7) << 18) | ((<uint32_t>p[i[0] + 1] & 63) << 12)
             | ((<uint32_t>p[i[0] + 2] & 63) << 6) | (p[i[0] + 3] & 63))
        i[0] += 4
    return c

cdef inline int encode(uint32_t c, uint8_t* p) noexcept nogil:
    # Returns the number of bytes written (at most 4).
    if c < 0x80:
        p[0] = <uint8_t>c
        return 1
    if c < 0x800:
        p[0] = <uint8_t>(0xC0 | (c >> 6))
        p[1] = <uint8_t>(0x80 | (c & 63))
        return 2
    if c < 0x10000:
        p[0] = <uint8_t>(0xE0 | (c >> 12))
        p[1] = <uint8_t>(0x80 | ((c >> 6) & 63))
        p[2] = <uint8_t>(0x80 | (c & 63))
        return 3
    p[0] = <uint8_t>(0xF0 | (c >> 18))
    p[1] = <uint8_t>(0x80 | ((c >> 12) & 63))
    p[2] = <uint8_t>(0x80 | ((c >> 6) & 63))
    p[3] = <uint8_t>(0x80 | (c & 63))
    return 4

cdef int64_t decompose(const Points* t, const uint32_t* a, int64_t n, uint32_t* b) noexcept nogil
cdef int64_t compose(const Points* t, uint32_t* a, int64_t n) noexcept nogil
