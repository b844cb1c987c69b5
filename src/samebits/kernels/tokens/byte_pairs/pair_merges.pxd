"""What ``pair_memory`` needs of ``PairMerges``."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef class PairMerges:
    cdef uint64_t* table  # left id, right id and rank in one number
    cdef uint32_t* merged  # what a pair becomes, by rank
    cdef int shift  # of a hash, so that what is left is a place in the table
    cdef int64_t mask
    cdef uint32_t bytes_to_ids[256]

    cdef uint32_t look_up(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int64_t merge_few(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
    cdef int64_t merge_many(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
    cdef int64_t merge(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
