"""A text's words for the compact model, one after another, as code points between their edges."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from samebits.kernels.langid.ngrams cimport END, MOST_LETTERS, START
from samebits.kernels.langid.text.unicode cimport COMPOSES, Points, compose, decode, decompose, flags_of, record_of

cdef enum:
    ZWNJ = 0x200C
    ZWJ = 0x200D
    HEH = 0x0647
    AE = 0x06D5


cdef bint start_reader(Reader* r, int64_t most) noexcept nogil:
    memset(r, 0, sizeof(Reader))
    r.raw = <uint32_t*>malloc((most + 1) * sizeof(uint32_t))
    r.wide = <uint32_t*>malloc((4 * most + 4) * sizeof(uint32_t))
    r.edged = <uint32_t*>malloc((4 * most + 8) * sizeof(uint32_t))
    r.keys = <uint64_t*>malloc(MOST_LETTERS * (4 * most + 8) * sizeof(uint64_t))
    r.starts = <int64_t*>malloc((most // 2 + 1) * sizeof(int64_t))
    return r.raw != NULL and r.wide != NULL and r.edged != NULL and r.keys != NULL and r.starts != NULL


cdef void free_reader(Reader* r) noexcept nogil:
    free(r.raw)
    free(r.wide)
    free(r.edged)
    free(r.keys)
    free(r.starts)


cdef void read_text(Reader* r, const uint8_t* p, int64_t n, int64_t most) noexcept nogil:
    cdef int64_t i = 0
    r.num = 0
    r.at = 0
    while i < n and r.num < most:
        r.raw[r.num] = decode(p, &i)
        r.num += 1


cdef inline bint is_arabic(uint32_t c) noexcept nogil:
    return 0x600 <= c < 0x700


cdef int64_t take_word(const Points* t, Reader* r, bint* plain) noexcept nogil:
    """Put the letters and marks of the next word into r.wide as they are written; returns how many, 0 at the end of the text.

    Heh with a zero-width non-joiner is how Sorani was long written for AE; other joiners end a word in Arabic script and
    are dropped elsewhere.
    """
    cdef int64_t i = r.at, n = r.num, m = 0
    cdef uint32_t c
    plain[0] = True
    while i < n and <int64_t>r.raw[i] + t.fold[record_of(t, r.raw[i])] <= 0:
        i += 1
    r.start = i
    while i < n:
        c = r.raw[i]
        if c == ZWNJ or c == ZWJ:
            if c == ZWNJ and m and r.wide[m - 1] == HEH:
                r.wide[m - 1] = AE
            elif c == ZWNJ and m and is_arabic(r.wide[m - 1]):
                break
            i += 1
            continue
        if <int64_t>c + t.fold[record_of(t, c)] <= 0:
            break
        plain[0] = plain[0] and not (c >= 0x300 and flags_of(t, c) & COMPOSES)
        r.wide[m] = c
        m += 1
        i += 1
    r.stop = r.at = i
    return m


cdef int64_t mark_words(const Points* t, Reader* r) noexcept nogil:
    """Put where each word begins into r.starts; returns how many there are."""
    cdef int64_t num = 0
    cdef bint plain
    while take_word(t, r, &plain):
        r.starts[num] = r.start
        num += 1
    return num


cdef int64_t next_word(const Points* t, Reader* r) noexcept nogil:
    """Put the next word with its edges into r.edged; returns its length, 0 at the end of the text.

    The same rules as training's ``fold``: letters and marks, in lower case, NFC.
    """
    cdef bint plain
    cdef int64_t k = 1, j, folded, m = take_word(t, r, &plain)
    if m == 0:
        return 0
    if not plain:
        for j in range(m):
            r.edged[j] = r.wide[j]
        m = compose(t, r.wide, decompose(t, r.edged, m, r.wide))
    r.edged[0] = START
    for j in range(m):
        folded = <int64_t>r.wide[j] + t.fold[record_of(t, r.wide[j])]
        if folded > 0:
            r.edged[k] = <uint32_t>folded
            k += 1
    r.edged[k] = END
    return k + 1
