"""Backoff mode's tables; see score.pyx."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

cdef enum:
    VALUE_SHIFT = 4  # logs are in 1/1024 bit, values in 1/64 bit
    GROUP_BITS = 3  # of a group's number

cdef struct Slot:
    uint64_t key
    int64_t feature  # + 1; 0 = free

cdef class Scorer:
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] stops
    cdef const uint16_t[::1] languages
    cdef const int16_t[::1] values
    cdef const int32_t[:, ::1] floors
    cdef Slot* slots
    cdef uint64_t mask
    cdef int64_t* dense_of  # feature -> row of dense, or -1
    cdef int16_t* dense
    cdef int num_languages
    cdef int width  # num_languages, padded
    cdef void fill_slots(self) noexcept nogil
    cdef int fill_dense(self) except -1
    cdef int64_t find(self, uint64_t key) noexcept nogil
    cdef int64_t look_up(self, const uint8_t* p, int64_t n, uint64_t* found) noexcept nogil
    cdef int32_t add_found(self, const uint64_t* found, int64_t num, int32_t* acc) noexcept nogil
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
