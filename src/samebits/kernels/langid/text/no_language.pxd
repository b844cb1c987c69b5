"""Texts that are in no language; see no_language.pyx."""

from libc.stdint cimport int64_t, uint32_t

from samebits.kernels.langid.text.unicode cimport Points

cdef bint is_noise(const Points* t, const uint32_t* raw, int64_t num) noexcept nogil
