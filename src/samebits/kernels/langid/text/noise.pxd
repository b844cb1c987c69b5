"""Removals of exact mode; see langid_noise.pyx."""

from libc.stdint cimport int64_t, uint32_t

from samebits.kernels.langid.text.unicode cimport Points

# Does the ASCII text stand at a[i]?
cdef inline bint follows(const uint32_t* a, int64_t i, int64_t n, const char* text) noexcept nogil:
    cdef int64_t k = 0
    while text[k]:
        if i + k >= n or a[i + k] != <uint32_t>text[k]:
            return False
        k += 1
    return True

cdef int64_t remove_noise(const Points* t, uint32_t* a, int64_t n) noexcept nogil
