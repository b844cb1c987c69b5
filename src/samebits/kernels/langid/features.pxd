"""The n-gram keys of a word; see langid_features.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    NUM_GROUPS = 5  # n-grams of 1, 2, 3 and 4, and the word itself
    KEYS_PER_BYTE = 4  # at most: four n-grams end at each code point

cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    # Two multiply-xorshift rounds: part of the file format.
    h ^= h >> 32
    h *= <uint64_t>0x9E3779B97F4A7C15
    h ^= h >> 29
    h *= <uint64_t>0xBF58476D1CE4E5B9
    return h ^ (h >> 32)

cdef inline int group_of(uint64_t key) noexcept nogil:
    # Keys tell their length: 21 bits a letter up to three, marked top bits above.
    if key >> 62 == 3:
        return 4
    if key >> 62 == 2:
        return 3
    return 2 if key >> 42 else 1 if key >> 21 else 0

cdef int64_t keys_of(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil
cdef int64_t ilog2(uint64_t x) noexcept nogil
