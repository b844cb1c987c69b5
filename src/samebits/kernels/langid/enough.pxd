"""When enough of a text was read; see enough.pyx."""

from libc.stdint cimport int32_t, int64_t

cdef class Enough:
    cdef int32_t odds[256]  # these three by slot
    cdef int32_t floors[256]
    cdef int32_t groups[256]
    cdef int num_slots
    cdef int32_t of_language[256]  # slots of near languages, group after group
    cdef int32_t of_near[256]  # and of their further columns
    cdef const int32_t[::1] group_stops
    cdef const int64_t[::1] halving
    cdef const int32_t[::1] model_weights
    cdef const int32_t[::1] near_weights
    cdef int64_t far
    cdef int64_t near
    cdef bint reached(self, const int32_t* sums, int64_t known) noexcept nogil
    cdef bint is_settled(
        self, int group, int64_t known, int64_t least, const int32_t* sums, const int32_t* values
    ) noexcept nogil
