"""What a language counts of each of its features; see own_counts.pyx."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

from samebits.kernels.langid.score cimport Scorer

cdef enum:
    COUNTS = 2048  # counts of a feature that are told apart
    TAGS = 2 * COUNTS  # of a group: count << 1 | no other language has it
    CLASSES = 8  # in class k a feature of two letters and more is at most times_in(k) times in a row, a letter eight times that
    LETTERS = 3
    LOSS_SHIFT = 2  # losses are in 1/16 bit, rounded up

cdef struct Own:
    uint64_t mixed  # the key
    uint64_t found  # as the scorer finds it; 0 = free

cdef struct Table:
    # The features of one language.
    Own* slots
    uint16_t* tags  # group * TAGS + tag
    int32_t* times  # in the row at hand, if it is counted
    uint64_t mask
    size_t size  # slots that there is room for

@cython.final
cdef class OwnCounts:
    cdef Scorer scorer
    cdef object given
    cdef const uint32_t[::1] counts
    cdef const int64_t[:, ::1] constants
    cdef int64_t[::1] starts  # of each language's features
    cdef uint64_t[::1] mixed
    cdef uint64_t[::1] found
    cdef uint16_t[::1] tags
    cdef int16_t[::1] losses  # by group, tag and class
    cdef int32_t[::1] values  # by group and count
    cdef int64_t[::1] spread  # of the floors, by group
    cdef void fill_losses(self) noexcept nogil
    cdef int32_t computed(self, int g, int64_t count) noexcept nogil
    cdef int64_t count_of(self, uint64_t found, uint16_t tag, int label) noexcept nogil
    cdef void put(self, Table* table, int label) noexcept nogil

cdef inline int64_t times_in(int k) noexcept nogil:
    # 1, 2, 4, 6, 8, 12, 24, 128
    return <int64_t>(<uint64_t>0x80180C0806040201 >> 8 * k & 255)

cdef inline int32_t value(OwnCounts own, int g, int64_t count) noexcept nogil:
    return own.values[g * COUNTS + count] if count < COUNTS else own.computed(g, count)

cdef bint make_table(Table* table, OwnCounts counts) noexcept nogil
cdef void free_table(Table* table) noexcept nogil

cdef inline int64_t find(const Table* table, uint64_t mixed) noexcept nogil:
    # The slot of a key, -1 if the language does not have it.
    cdef uint64_t k = mixed & table.mask
    while table.slots[k].found:
        if table.slots[k].mixed == mixed:
            return <int64_t>k
        k = (k + 1) & table.mask
    return -1
