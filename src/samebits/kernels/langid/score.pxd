"""Backoff mode's tables; see score.pyx."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    VALUE_SHIFT = 4  # logs are in 1/1024 bit, values in 1/64 bit
    FEATURE_SHIFT = 35  # of what is found: feature << 35 | group << 32 | code, never 0
    GROUP_SHIFT = 32

cdef struct Slot:
    uint64_t mixed  # the key
    uint64_t found  # 0 = free

cdef inline int64_t feature_of(uint64_t found) noexcept nogil:
    return <int64_t>(found >> FEATURE_SHIFT)

cdef inline int group_in(uint64_t found) noexcept nogil:
    return <int>(found >> GROUP_SHIFT & 7)

@cython.final
cdef class Scorer:
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] stops
    cdef const uint16_t[::1] languages
    cdef const int16_t[::1] values
    cdef const int32_t[:, ::1] floors
    cdef Slot* slots
    cdef uint64_t mask
    cdef int16_t* dense
    cdef uint32_t* codes  # by feature
    cdef uint32_t* lists  # of each other feature the number of its entries, then value << 16 | language of each
    cdef bint finds
    cdef int num_languages
    cdef int width  # num_languages, padded
    cdef int make_room(self, int64_t least) except -1
    cdef void fill_values(self, int64_t least) noexcept nogil
    cdef void fill_slots(self) noexcept nogil
    cdef uint64_t found_of(self, int64_t f) noexcept nogil
    cdef uint32_t put_values(self, int64_t f, bint dense, int64_t* num_dense, int64_t* num_listed) noexcept nogil
    cdef uint64_t find(self, uint64_t mixed) noexcept nogil
    cdef int64_t ask(self, const uint8_t* p, int64_t n, uint64_t* keys) noexcept nogil
    cdef int64_t find_all(self, uint64_t* keys, int64_t num_keys) noexcept nogil
    cdef void ask_values(self, const uint64_t* found, int64_t num) noexcept nogil
    cdef int64_t look_up(self, const uint8_t* p, int64_t n, uint64_t* found) noexcept nogil
    cdef void add_found(self, const uint64_t* found, int64_t num, int32_t* known, int32_t* acc) noexcept nogil
    cdef void pay(self, const int32_t* known, int32_t* acc) noexcept nogil
    cdef int32_t add_word(self, const uint8_t* p, int64_t n, uint64_t* keys, int32_t* acc) noexcept nogil
    cdef void flush(
        self,
        const uint8_t[::1] words,
        const int64_t[::1] word_stops,
        const int64_t* held,
        int64_t num_held,
        int64_t* totals,
        int32_t* slot_of,
        uint64_t* keys,
        int64_t[::1] sums,
    ) noexcept nogil
