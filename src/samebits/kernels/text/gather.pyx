# cython: language_level=3
"""Rows of a buffer gathered into one stretch of bytes, for library functions that work on whole strings."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy


def join_rows(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, uint8_t separator):
    """Return all rows, each followed by the separator byte."""
    cdef int64_t i, size, total = 0
    cdef uint8_t* to
    for i in range(starts.shape[0]):
        total += stops[i] - starts[i] + 1
    joined = PyBytes_FromStringAndSize(NULL, total)
    to = <uint8_t*>PyBytes_AS_STRING(joined)
    with nogil:
        for i in range(starts.shape[0]):
            size = stops[i] - starts[i]
            if size:
                memcpy(to, &buffer[starts[i]], size)
            to[size] = separator
            to += size + 1
    return joined
