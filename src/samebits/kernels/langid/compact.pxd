"""The compact model's scorer; see compact.pyx."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from samebits.kernels.langid.unicode cimport Points, Tables

cdef enum:
    MOST_LANGUAGES = 256
    CHECK_BITS = 16

cdef struct Reader:
    # One text as code points, and where reading it has come to.
    uint32_t* raw
    uint32_t* wide
    uint32_t* edged
    uint64_t* keys  # of the last word, MOST_LETTERS for each first letter
    int64_t num
    int64_t at
    int64_t start  # of the last word, in code points of the text
    int64_t stop

cdef bint start_reader(Reader* r, int64_t most) noexcept nogil
cdef void free_reader(Reader* r) noexcept nogil
cdef void read_text(Reader* r, const uint8_t* p, int64_t n, int64_t most) noexcept nogil
cdef int64_t next_word(const Points* t, Reader* r) noexcept nogil

cdef class CompactScorer:
    cdef Tables tables
    cdef const uint32_t[::1] buckets
    cdef const uint16_t[::1] stream
    cdef const int16_t[::1] levels
    cdef const int32_t[::1] floors
    cdef readonly object arrays
    cdef int shift
    cdef int num_languages
    cdef int width
    cdef uint64_t* dense_keys
    cdef int16_t* dense
    cdef uint64_t dense_mask
    cdef int fill_dense(self) except -1
    cdef int64_t find(self, uint64_t key) noexcept nogil
    cdef void add_feature(self, int64_t place, int32_t* sums) noexcept nogil
    cdef int64_t score_word(self, Reader* r, int64_t n, int32_t* sums) noexcept nogil
    cdef list list_of(self, int64_t i)
