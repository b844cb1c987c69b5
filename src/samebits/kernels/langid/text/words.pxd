"""A table of byte strings numbered in order of first occurrence, for use without the GIL; see langid_words.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from *:
    """
    #include <stdint.h>
    #ifndef SAMEBITS_PREFETCH
    #if defined(__GNUC__)
    #define SAMEBITS_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define SAMEBITS_PREFETCH(p) ((void)(p))
    #endif
    #endif
    #ifndef SAMEBITS_FOLD
    #define SAMEBITS_FOLD
    /* Digits of pi and e: constants of the keys and the row identities. */
    #define SAMEBITS_K0 0x243F6A8885A308D3ULL
    #define SAMEBITS_K1 0x13198A2E03707344ULL
    #define SAMEBITS_K2 0xB7E151628AED2A6BULL
    #define SAMEBITS_K3 0xBF7158809CF4F3C7ULL
    static inline uint64_t samebits_fold(uint64_t a, uint64_t b) {
        __uint128_t product = (__uint128_t)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    #endif
    """
    uint64_t fold "samebits_fold"(uint64_t a, uint64_t b) nogil
    void prefetch "SAMEBITS_PREFETCH"(const void* p) nogil
    uint64_t K0 "SAMEBITS_K0"
    uint64_t K1 "SAMEBITS_K1"
    uint64_t K2 "SAMEBITS_K2"
    uint64_t K3 "SAMEBITS_K3"

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
cdef int64_t insert_word(WordTable* t, Slot* slot, uint64_t key, const uint8_t* p, int64_t n) noexcept nogil
cdef void hash_row(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil
cdef object array_of(const Bytes* b, object dtype)
cdef object take_array(Bytes* b, object dtype)


# Inline, because callers in other modules would go through a pointer for every word.
cdef inline uint64_t key_of(const uint8_t* p, int64_t n) noexcept nogil:
    cdef uint64_t h = K1 ^ <uint64_t>n, x = 0
    cdef int64_t i = 0
    if n <= 8:
        memcpy(&x, p, 8)  # the slack makes this a load and a shift, no call
        return x & (<uint64_t>0xFFFFFFFFFFFFFFFF >> (64 - 8 * n))
    while i + 8 <= n:
        memcpy(&x, p + i, 8)
        h = fold(h ^ x, K3)
        i += 8
    memcpy(&x, p + n - 8, 8)
    return fold(h ^ x, K2)


cdef inline uint64_t place_of(uint64_t key) noexcept nogil:
    # Where to look first, to be masked.
    return fold(key ^ K0, K2)


cdef inline Slot* slot_of(const WordTable* t, uint64_t key, uint64_t place, const uint8_t* p, int64_t n) noexcept nogil:
    # The word's slot, or the free one where it belongs.
    cdef uint64_t k = place & t.mask
    cdef Slot* slot
    while True:
        slot = &t.slots[k]
        if slot.word == 0:
            return slot
        if slot.key == key and slot.length == <uint32_t>n:
            if n <= 8 or memcmp(t.words.data + (<int64_t*>t.stops.data)[slot.word - 1] - n, p, n) == 0:
                return slot
        k = (k + 1) & t.mask


cdef inline int64_t add_keyed(WordTable* t, uint64_t key, uint64_t place, const uint8_t* p, int64_t n) noexcept nogil:
    # The number of a word of n > 0 bytes, a new one if need be; -1 without memory.
    cdef Slot* slot = slot_of(t, key, place, p, n)
    if slot.word:
        return <int64_t>slot.word - 1
    return insert_word(t, slot, key, p, n)
