"""What other kernels need of ``jsonl``."""

from libc.stdint cimport int64_t, uint8_t


cdef int64_t find_strings(
    uint8_t* p, int64_t room, const int64_t* starts, const int64_t* stops, const uint8_t* kinds, int64_t num,
    const uint8_t* keys, const int64_t* bounds, int64_t num_keys, bint wide,
    uint8_t* accepted, int64_t* first, int64_t* last,
) noexcept nogil
