# Keys of n-grams: where a word ends, and what of its bytes is compared without touching them again.

cdef struct Key:
    const uint8_t* start
    int64_t length
    uint64_t head
    uint64_t tail
    int64_t count
    unsigned int tag

cdef uint64_t HIGH_BITS = <uint64_t>0x8080808080808080ULL

# 0: part of a word; 1: white space; 2: lead byte that may start white space of two or three bytes
cdef uint8_t[256] SPACE_CLASS
memset(SPACE_CLASS, 0, 256)
for _byte in (0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20):
    SPACE_CLASS[_byte] = 1
for _byte in (0xC2, 0xE1, 0xE2, 0xE3):
    SPACE_CLASS[_byte] = 2


cdef inline int64_t space_at(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Length in bytes of the white space character at p, 0 if it is none."""
    cdef uint8_t kind = SPACE_CLASS[p[0]]
    if kind == 0:
        return 0
    if kind == 1:
        return 1
    if p[0] == 0xC2:  # U+0085, U+00A0
        return 2 if end - p >= 2 and (p[1] == 0x85 or p[1] == 0xA0) else 0
    if end - p < 3:
        return 0
    if p[0] == 0xE1:  # U+1680
        return 3 if p[1] == 0x9A and p[2] == 0x80 else 0
    if p[0] == 0xE3:  # U+3000
        return 3 if p[1] == 0x80 and p[2] == 0x80 else 0
    if p[1] == 0x80:  # U+2000..200A, U+2028, U+2029, U+202F
        return 3 if p[2] <= 0x8A or p[2] == 0xA8 or p[2] == 0xA9 or p[2] == 0xAF else 0
    return 3 if p[1] == 0x81 and p[2] == 0x9F else 0  # U+205F


cdef inline uint64_t load8(const uint8_t* p) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word


cdef inline uint64_t load_short(const uint8_t* p, int64_t size, const uint8_t* end) noexcept nogil:
    """Fewer than eight bytes as one word, zero-padded; reads ahead only inside the buffer that stops at ``end``."""
    cdef uint64_t word = 0
    if end - p >= 8:
        return load8(p) & ((<uint64_t>1 << (8 * size)) - 1)
    memcpy(&word, p, size)
    return word


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    h *= <uint64_t>0xD6E8FEB86659FD93ULL
    return h ^ (h >> 32)


cdef inline void make_key(Key* key, const uint8_t* p, int64_t size, const uint8_t* end, int64_t count) noexcept nogil:
    """Hash eight bytes at a time. Whole keys are compared, so the hash decides speed only, never a result."""
    cdef uint64_t h
    cdef int64_t at
    key.start = p
    key.length = size
    key.count = count
    if size < 8:
        key.head = load_short(p, size, end)
        key.tail = 0
        h = mix(key.head + <uint64_t>size * <uint64_t>0x9E3779B97F4A7C15ULL)
    else:
        key.head = load8(p)
        key.tail = load8(p + size - 8)
        h = mix(key.head + <uint64_t>size * <uint64_t>0x9E3779B97F4A7C15ULL) + key.tail
        for at in range(8, size - 8, 8):
            h = mix(h) + load8(p + at)
    key.tag = <unsigned int>mix(mix(h))


cdef inline const uint8_t* word_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """First white space at or after p, or end; eight bytes at a time while they are ASCII above the space."""
    cdef uint64_t word, small
    while p < end:
        if end - p >= 8:
            word = load8(p)
            if not word & HIGH_BITS:
                # bytes up to 0x20 keep their high bit clear when 0x5F is added
                small = ~(word + <uint64_t>0x5F5F5F5F5F5F5F5FULL) & HIGH_BITS
                if not small:
                    p += 8
                    continue
                p += COUNT_ZEROS(small) >> 3
        if SPACE_CLASS[p[0]] and space_at(p, end):
            return p
        p += 1
    return end
