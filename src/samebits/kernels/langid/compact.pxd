"""The compact model's scorer; see compact.pyx."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from samebits.kernels.langid.enough cimport Enough
from samebits.kernels.langid.text.reading cimport Reader
from samebits.kernels.langid.text.unicode cimport Tables

cdef enum:
    MOST_LANGUAGES = 256
    CHECK_BITS = 16

cdef class CompactScorer

cdef class WordCache:
    cdef uint64_t* keys
    cdef int64_t* known
    cdef int32_t* rows
    cdef int fit(self, CompactScorer scorer, int64_t num_texts) except -1

cdef class CompactScorer:
    cdef Tables tables
    cdef const uint32_t[::1] buckets
    cdef const uint16_t[::1] stream
    cdef const int16_t[::1] levels
    cdef const int32_t[::1] floors
    cdef int shift
    cdef int num_languages
    cdef int width
    cdef uint8_t slots[256]  # where in sums a language is
    cdef int64_t num_features
    cdef uint64_t* table  # low 32 bits of an identity << 32 | code, 0: free
    cdef size_t table_bytes
    cdef int down  # from an identity to its own place in the table
    cdef uint64_t* rows
    cdef int16_t* dense
    cdef int make_rows(self) except -1
    cdef int make_table(self) except -1
    cdef uint64_t inlined(self, int64_t i) noexcept nogil
    cdef bint put(self, uint64_t identity, uint64_t code) noexcept nogil
    cdef int64_t after(self, int64_t i) noexcept nogil
    cdef void order_languages(self, const int64_t* counts) noexcept nogil
    cdef int make_row(self, int64_t row, int64_t start, int64_t stop, int64_t at) noexcept nogil
    cdef int64_t find(self, uint64_t key) noexcept nogil
    cdef uint64_t announce(self, uint64_t code) noexcept nogil
    cdef int64_t find_all(self, Reader* r, int64_t n, uint64_t word, int64_t* known) noexcept nogil
    cdef int64_t score_word(self, Reader* r, int64_t n, uint64_t word, int32_t* sums) noexcept nogil
    cdef int64_t add_word(self, Reader* r, int64_t length, int32_t* sums, WordCache cache) noexcept nogil
    cdef int64_t score_text(self, Reader* r, int32_t* sums, WordCache cache, Enough enough) noexcept nogil
    cdef bint may_stop(
        self, Reader* r, int64_t k, const int32_t* sums, int64_t known, Enough enough
    ) noexcept nogil
