"""The exact-mode cleaner on code points; see langid_clean.pyx."""

from libc.stdint cimport int64_t, uint32_t

from samebits.kernels.langid.text.unicode cimport Points

cdef struct Scratch:
    # Room for one row: a and b hold 4 code points for each of the row's bytes (NFD), numbers the protected decimals.
    uint32_t* a
    uint32_t* b
    int64_t* numbers
    int64_t capacity

cdef int reserve(Scratch* s, int64_t num_bytes) noexcept nogil
cdef void release(Scratch* s) noexcept nogil
cdef int64_t clean_points(const Points* t, Scratch* s, int64_t n, int default_script) noexcept nogil
