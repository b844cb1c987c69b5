"""Keys of the compact model's features; see ngrams.pyx. They are part of the file format."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from samebits.kernels.langid.features cimport mix

cdef enum:
    MOST_LETTERS = 5
    WORD_GROUP = 5  # groups 0 to 4 are n-grams of 1 to 5 letters
    NUM_GROUPS = 6
    START = 1
    END = 2
    LONGEST_WORD = 24  # a longer one has no key as a word: scripts without spaces write whole sentences in one run

cdef inline uint64_t first_hash() noexcept nogil:
    return <uint64_t>0x243F6A8885A308D3

cdef inline uint64_t extend(uint64_t h, uint32_t c) noexcept nogil:
    return mix(h ^ c)

cdef inline uint64_t key_of(uint64_t h, int length) noexcept nogil:
    return mix(h + <uint64_t>length)

cdef inline uint64_t word_key(const uint32_t* edged, int64_t n) noexcept nogil:
    # edged[:n] is the word with both edges.
    cdef uint64_t h = <uint64_t>0x13198A2E03707344
    cdef int64_t i
    for i in range(n):
        h = mix(h ^ edged[i])
    return mix(h)

cdef int64_t edged_of(const unsigned char* p, int64_t n, uint32_t* out) noexcept nogil
