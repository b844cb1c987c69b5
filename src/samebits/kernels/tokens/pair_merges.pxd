"""What ``pair_memory`` needs of ``PairMerges``."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef struct Merge:
    uint64_t pair  # left id in the upper half, right id in the lower
    uint64_t found  # rank in the upper half, new id in the lower


cdef class PairMerges:
    cdef Merge* table
    cdef int64_t num_slots
    cdef uint32_t bytes_to_ids[256]

    cdef uint64_t look_up(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int64_t merge_few(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
    cdef int64_t merge_many(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
    cdef int64_t merge(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil
