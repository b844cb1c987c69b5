"""One text, word by word; see reading.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from samebits.kernels.langid.text.unicode cimport Points

cdef struct Reader:
    # One text as code points, and where reading it has come to.
    uint32_t* raw
    uint32_t* wide
    uint32_t* edged
    uint64_t* keys  # of the last word, MOST_LETTERS for each first letter
    int64_t* starts  # of all words, once they are marked
    int64_t num
    int64_t at
    int64_t start  # of the last word, in code points of the text
    int64_t stop

cdef bint start_reader(Reader* r, int64_t most) noexcept nogil
cdef void free_reader(Reader* r) noexcept nogil
cdef void read_text(Reader* r, const uint8_t* p, int64_t n, int64_t most) noexcept nogil
cdef int64_t mark_words(const Points* t, Reader* r) noexcept nogil
cdef int64_t next_word(const Points* t, Reader* r) noexcept nogil

cdef inline int64_t spread(int64_t k, int64_t num) noexcept nogil:
    # Which of num words is read as the k-th: every third, then the ones after them, then the others.
    cdef int64_t first = (num + 2) // 3, second = (num + 1) // 3
    if k < first:
        return 3 * k
    return 3 * (k - first) + 1 if k < first + second else 3 * (k - first - second) + 2
