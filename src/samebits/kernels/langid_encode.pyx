"""Text rows -> integers for exact mode: clean, cut into words, number the words, in one pass without the GIL.

Nearly all rows of Western text are ASCII without URLs or mentions: they take a fused single pass (class look-up, lower
case, runs cut). A row with anything else goes to ``clean_points``. Words are numbered only once the row is known to be
clean: a row that turns out to need the general path must not leave words behind.

A row's identity for de-duplication is a 128-bit hash of its cleaned bytes: two independent 64-bit folded
multiplications. At 2 million rows the chance of any collision is below 1e-25, and no text has to be kept.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from samebits.kernels.langid_clean cimport Scratch, clean_points, release, reserve
from samebits.kernels.langid_unicode cimport WORD, Points, Tables, decode, encode, flags_of
from samebits.kernels.langid_words cimport Bytes, WordTable, add_word, array_of, free_table, hash_row, need, start_table

cdef enum:
    LETTER = 0
    DIGIT = 1
    BLANK = 2
    GENERAL = 3  # @ + #: may start something to remove
    POINT = 4  # . and , : a domain or decimal when a letter, digit or non-ASCII byte follows, www. always
    SLASHED = 5  # : starts a URL's // only before a slash

cdef uint8_t CLASS[128]


cdef void fill_classes():
    cdef int c
    for c in range(128):
        CLASS[c] = LETTER if 65 <= c <= 90 or 97 <= c <= 122 else DIGIT if 48 <= c <= 57 else BLANK
    for c in (64, 43, 35):
        CLASS[c] = GENERAL
    CLASS[46] = CLASS[44] = POINT
    CLASS[58] = SLASHED


fill_classes()

cdef struct Encoder:
    Scratch scratch
    WordTable table
    Bytes tokens  # uint32 each
    Bytes texts  # cleaned rows, when asked for
    uint8_t* row  # cleaned bytes of the row in hand
    int64_t* stops  # ends of its words
    int64_t row_room
    bint failed


cdef inline bint add_token(Encoder* e, const uint8_t* p, int64_t n) noexcept nogil:
    # The caller has made room for the tokens of the whole row.
    cdef int64_t word = add_word(&e.table, p, n)
    (<uint32_t*>(e.tokens.data + e.tokens.size))[0] = <uint32_t>word
    e.tokens.size += 4
    return word >= 0


cdef int64_t ascii_row(Encoder* e, const uint8_t* p, int64_t n, int64_t* num_words) noexcept nogil:
    # Clean an ASCII row into e.row, its words' ends into e.stops; -1: the row needs the general path.
    cdef uint8_t* out = e.row
    cdef int64_t i, o = 0, word = 0, words = 0
    cdef uint8_t c, kind, last = 0, before = 0
    cdef bint letters = False
    for i in range(n):
        c = p[i]
        if c >= 128:
            return -1
        kind = CLASS[c]
        if kind <= DIGIT:  # one branch for both: in mixed text a second one is mispredicted at every other character
            c |= 32  # a digit has this bit already
            if c == last and c == before and kind == LETTER:
                continue
            letters |= kind == LETTER
            out[o] = c
            o += 1
        else:
            if kind != BLANK and (kind == GENERAL or i + 1 < n and starts_something(kind, p[i + 1], last, before)):
                return -1
            if o > word:
                e.stops[words] = o
                words += 1
                out[o] = 32
                o += 1
                word = o
        before = last
        last = c
    if o > word:
        e.stops[words] = o
        words += 1
    elif o > 0:
        o -= 1
    if words == 1 and not letters:  # digits only
        words = 0
    num_words[0] = words
    return o if words else 0


cdef inline bint starts_something(uint8_t kind, uint8_t following, uint8_t last, uint8_t before) noexcept nogil:
    # May this point or colon be part of a domain, a decimal number or a URL?
    if kind == SLASHED:
        return following == 47
    return following >= 128 or CLASS[following] < BLANK or (last == 119 and before == 119)


cdef bint encode_ascii(Encoder* e, int64_t num_words) noexcept nogil:
    cdef int64_t i, start = 0
    for i in range(num_words):
        if not add_token(e, e.row + start, e.stops[i] - start):
            return False
        start = e.stops[i] + 1
    return True


cdef int64_t general_row(const Points* t, Encoder* e, const uint8_t* p, int64_t n, int script, uint8_t* status) noexcept nogil:
    # Any row: clean on code points, write UTF-8 to e.row, encode runs of word characters. Returns bytes, -2: memory.
    cdef int64_t i = 0, m = 0, o = 0, word = -1
    cdef uint32_t c
    cdef bint is_word, stable = True
    if not reserve(&e.scratch, n):
        return -2
    while i < n:
        e.scratch.a[m] = decode(p, &i)
        m += 1
    m = clean_points(t, &e.scratch, m, script)
    if m < 0 or not row_room(e, 4 * m) or not need(&e.tokens, 4 * m + 4):
        return -2
    for i in range(m):
        c = e.scratch.b[i]
        is_word = (flags_of(t, c) & WORD) != 0
        if c >= 0x250 or (c < 128 and not is_word and c != 32):
            stable = False
        if is_word:
            if word < 0:
                word = o
        elif word >= 0:
            if not add_token(e, e.row + word, o - word):
                return -2
            word = -1
        o += encode(c, e.row + o)
    if word >= 0 and not add_token(e, e.row + word, o - word):
        return -2
    status[0] = 0 if stable else 1
    return o


cdef bint row_room(Encoder* e, int64_t size) noexcept nogil:
    cdef uint8_t* row
    cdef int64_t* stops
    if size <= e.row_room:
        return True
    row = <uint8_t*>realloc(e.row, 2 * size + 16)
    if row != NULL:
        e.row = row
    stops = <int64_t*>realloc(e.stops, (size + 16) * sizeof(int64_t))  # every second byte can end a word
    if stops != NULL:
        e.stops = stops
    if row == NULL or stops == NULL:
        return False
    e.row_room = 2 * size
    return True


cdef int64_t one_row(
    const Points* t, Encoder* e, const uint8_t* p, int64_t n, int script, uint64_t* row_hash, uint8_t* unstable,
) noexcept nogil:
    # Returns the number of cleaned bytes, left in e.row; -2: memory.
    cdef int64_t size = -1, num_words = 0
    if not row_room(e, n + 8) or not need(&e.tokens, 4 * n + 4):
        return -2
    if script <= 0:  # automatic or Latin: what the fused pass computes
        size = ascii_row(e, p, n, &num_words)
        if num_words and not encode_ascii(e, num_words):
            return -2
    if size < 0:
        size = general_row(t, e, p, n, script, unstable)
    if size > 0:
        hash_row(e.row, size, row_hash)
    return size


cdef bint keep_text(Encoder* e, int64_t size) noexcept nogil:
    if not need(&e.texts, size):
        return False
    memcpy(e.texts.data + e.texts.size, e.row, size)
    e.texts.size += size
    return True


cdef void free_encoder(Encoder* e) noexcept nogil:
    release(&e.scratch)
    free_table(&e.table)
    free(e.tokens.data)
    free(e.texts.data)
    free(e.row)
    free(e.stops)


def encode_rows(
    Tables tables,
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    int script,
    bint keep_texts,
):
    """Clean and encode rows ``buffer[starts[i]:stops[i]]`` of valid UTF-8; see the stub for the result."""
    cdef int64_t n = starts.shape[0], i, size
    token_stops, sizes = np.empty(n, np.int64), np.empty(n, np.int64)
    hashes, unstable = np.zeros((n, 2), np.uint64), np.zeros(n, np.uint8)
    cdef int64_t[::1] stop_view = token_stops, size_view = sizes
    cdef uint64_t[:, ::1] hash_view = hashes
    cdef uint8_t[::1] unstable_view = unstable
    cdef const uint8_t* data = &buffer[0] if buffer.shape[0] else NULL
    cdef Encoder e
    memset(&e, 0, sizeof(e))
    try:
        with nogil:
            e.failed = not start_table(&e.table, 1 << 14)
            for i in range(n):
                if e.failed:
                    break
                size = one_row(
                    &tables.points, &e, data + starts[i], stops[i] - starts[i], script, &hash_view[i, 0], &unstable_view[i]
                )
                e.failed = size < 0 or (keep_texts and not keep_text(&e, size))
                size_view[i] = size
                stop_view[i] = e.tokens.size // 4
        if e.failed:
            raise MemoryError
        return {
            "tokens": array_of(&e.tokens, np.uint32),
            "token_stops": token_stops,
            "words": array_of(&e.table.words, np.uint8),
            "word_stops": array_of(&e.table.stops, np.int64),
            "hashes": hashes,
            "sizes": sizes,
            "unstable": unstable,
            "texts": array_of(&e.texts, np.uint8),
        }
    finally:
        free_encoder(&e)
