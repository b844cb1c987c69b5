"""Words of one search for suspects that come again: their vectors, and what the label at hand can lose by them. See leave_one_out.pyx."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from samebits.kernels.langid.features cimport NUM_GROUPS
from samebits.kernels.langid.suspects.own_counts cimport CLASSES

cdef extern from "../large_pages.h" nogil:
    void* spread_zeros(size_t size)
    void free_zeros(void* p, size_t size)

cdef enum:
    MEMO_BYTES = 1 << 22

cdef struct Word:
    # A word of which the vector is kept, and what the label at hand loses by it.
    int64_t word
    int64_t start  # of its keys
    int32_t num
    int32_t num_found  # among the features of the label at hand
    int32_t label
    int32_t row  # the last that has it
    int32_t times  # there
    int32_t repeats
    int32_t known[NUM_GROUPS]
    int32_t losses[CLASSES]
    uint32_t whole  # place of the word's own loss

cdef struct Memo:
    # Words of one call that occur in it more than once; a full memo is emptied.
    int32_t* vectors
    int64_t size  # of them, in bytes
    Word* words
    uint64_t* keys  # mixed
    uint32_t* slots  # of the label at hand
    int64_t room
    int64_t used
    int64_t num
    int64_t most
    int32_t* place_of  # word -> place + 1
    bint forgot  # something, since the row began


cdef inline void free_memo(Memo* m) noexcept nogil:
    free_zeros(m.vectors, m.size)
    free(m.words)
    free(m.keys)
    free(m.slots)
    free(m.place_of)

cdef inline bint start_memo(Memo* m, int width, int64_t num_words, int64_t longest) noexcept nogil:
    memset(m, 0, sizeof(Memo))
    m.most = max(64, min(num_words + 1, MEMO_BYTES // (4 * width)))
    m.room = max(32 * m.most, longest)
    m.size = m.most * width * sizeof(int32_t)
    m.vectors = <int32_t*>spread_zeros(m.size)
    m.words = <Word*>malloc(m.most * sizeof(Word))
    m.keys = <uint64_t*>malloc(m.room * sizeof(uint64_t))
    m.slots = <uint32_t*>malloc(m.room * sizeof(uint32_t))
    m.place_of = <int32_t*>calloc(num_words + 1, sizeof(int32_t))
    return not (m.vectors == NULL or m.words == NULL or m.keys == NULL or m.slots == NULL or m.place_of == NULL)

cdef inline Word* next_word(Memo* m, int64_t word, int64_t num) noexcept nogil:
    """Make room for a new word of so many keys."""
    cdef int64_t i
    cdef Word* kept
    if m.num == m.most or m.used + num > m.room:
        for i in range(m.num):
            m.place_of[m.words[i].word] = 0
        m.num = m.used = 0
        m.forgot = True
    kept = m.words + m.num
    kept.word, kept.start, kept.num, kept.label, kept.row = word, m.used, <int32_t>num, -1, -1
    memset(kept.known, 0, sizeof(kept.known))
    m.used += num
    m.num += 1
    m.place_of[word] = <int32_t>m.num
    return kept
