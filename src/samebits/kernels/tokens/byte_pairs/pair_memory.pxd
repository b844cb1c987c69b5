"""What ``json_rows`` needs of ``PairMemory``."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from samebits.kernels.tokens.byte_pairs.pair_merges cimport PairMerges
from samebits.kernels.tokens.byte_pairs.pair_table cimport Key, Slot, Table

cdef extern from "pythread.h" nogil:
    ctypedef void* PyThread_type_lock

cdef enum:
    MOST_TABLES = 40


cdef struct Chunk:
    Chunk* before


@cython.final
cdef class PairMemory:
    cdef PairMerges merges
    cdef int digits
    cdef bint wide
    cdef PyThread_type_lock lock
    cdef Table* table  # the largest one, in use
    cdef Table tables[MOST_TABLES]
    cdef int num_tables
    cdef Chunk* chunk
    cdef int64_t num_used, num_chunks, room

    cdef int grow(self, int64_t size) noexcept nogil
    cdef void* take_room(self, int64_t size) noexcept nogil
    cdef Slot* find(self, Table* table, const uint8_t* p, const Key* key) noexcept nogil
    cdef Slot* entry(self, Table* table, const uint8_t* p, const Key* key, int64_t id) noexcept nogil
    cdef Slot* put(self, Slot* slot, const uint8_t* p, const Key* key, const uint32_t* ids, int64_t num) noexcept nogil
    cdef int64_t emit_other(self, Table* table, const uint8_t* text, const Key* key, uint32_t* out) noexcept nogil
    cdef inline int64_t emit(self, Table* table, const uint8_t* text, const Key* key, uint32_t* out) noexcept nogil
    cdef inline bint emit_next(
        self, Table* table, const uint8_t* text, const Key* key, int64_t* at, uint32_t* out, int64_t* total
    ) noexcept nogil
    cdef int64_t encode_row(
        self, const uint8_t* text, int64_t i, int64_t stop, int64_t room, const uint8_t* classes, uint32_t* out
    ) noexcept nogil
    cdef int64_t fill_rows(
        self,
        const uint8_t* text,
        const int64_t* starts,
        const int64_t* stops,
        int64_t n,
        int64_t room,
        const uint8_t* classes,
        const uint16_t[::1] before,
        const uint16_t[::1] after,
        uint16_t* out,
        int64_t* sizes,
    ) noexcept nogil
