"""What other kernels need of ``lines``."""

from libc.stdint cimport int64_t, uint8_t


cdef int64_t _count_newlines(const uint8_t* data, int64_t start, int64_t stop) noexcept nogil
cdef void _fill_lines(
    const uint8_t* data, int64_t start, int64_t stop, int64_t* starts, int64_t* stops
) noexcept nogil
cdef void _classify(
    const uint8_t* data, const int64_t* starts, const int64_t* stops, int64_t num, uint8_t* kinds
) noexcept nogil
