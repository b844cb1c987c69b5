"""A table of byte strings numbered in order of first occurrence, for use without the GIL; see langid_words.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #ifndef SAMEBITS_FOLD
    #define SAMEBITS_FOLD
    static inline uint64_t samebits_fold(uint64_t a, uint64_t b) {
        __uint128_t product = (__uint128_t)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    #endif
    """
    uint64_t fold "samebits_fold"(uint64_t a, uint64_t b) nogil

cdef enum:
    SLACK = 8  # bytes that may be read past a word: short keys are one unaligned load

cdef struct Bytes:
    uint8_t* data
    int64_t size
    int64_t room

cdef struct Slot:
    uint64_t key
    uint32_t word  # number + 1; 0 = free
    uint32_t length

cdef struct WordTable:
    Slot* slots
    uint64_t mask
    int64_t num_words
    Bytes words  # the words' bytes, one after another
    Bytes stops  # int64 each

cdef bint need(Bytes* b, int64_t more) noexcept nogil
cdef bint start_table(WordTable* t, int64_t num_slots) noexcept nogil
cdef void free_table(WordTable* t) noexcept nogil
cdef int64_t add_word(WordTable* t, const uint8_t* p, int64_t n) noexcept nogil
cdef int64_t find_word(const WordTable* t, const uint8_t* p, int64_t n) noexcept nogil
cdef void hash_row(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil
cdef object array_of(const Bytes* b, object dtype)
