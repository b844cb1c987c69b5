"""Text rows -> integers for exact mode: clean, cut into words, number the words, in one pass without the GIL.

Nearly all rows of Western text are ASCII without URLs or mentions: they take a fused single pass (class look-up, lower
case, runs cut), eight bytes at a time where these are letters, digits and single spaces. A row with anything else goes to
``clean_points``. Words are numbered only once the row is known to be clean: a row that turns out to need the general path
must not leave words behind. Then all of them are known, and their places in the table are asked for before the first is
looked at.

A row's identity for de-duplication is a 128-bit hash of its cleaned bytes: two independent 64-bit folded
multiplications. At 2 million rows the chance of any collision is below 1e-25, and no text has to be kept.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from samebits.kernels.langid.text.clean cimport Scratch, clean_points, release, reserve
from samebits.kernels.langid.text.unicode cimport WORD, Points, Tables, decode, encode, flags_of
from samebits.kernels.langid.text.words cimport (
    Bytes, WordTable, add_keyed, add_word, free_table, hash_row, key_of, need, place_of, prefetch, start_table, take_array,
)

cdef extern from *:
    """
    #include <stdint.h>
    /* Eight ASCII bytes at a time; the high bit of a byte says yes. No sum of two bytes below 128 leaves its byte. */
    #define EVERY(b) (0x0101010101010101ULL * (uint64_t)(b))
    #define HIGH EVERY(0x80)
    static inline uint64_t between(uint64_t x, uint64_t low, uint64_t high) {
        return (x + EVERY(0x80 - low)) & ~(x + EVERY(0x7F - high)) & HIGH;
    }
    static inline uint64_t zeros(uint64_t x) { return ~(x + EVERY(0x7F)) & HIGH; }
    """
    uint64_t EVERY(int b) nogil
    uint64_t HIGH
    uint64_t between(uint64_t x, int low, int high) nogil
    uint64_t zeros(uint64_t x) nogil
    int count_zeros "__builtin_ctzll"(uint64_t x) nogil

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
    Bytes texts  # cleaned rows that cleaning again may change, when asked for
    uint8_t* row  # cleaned bytes of the row in hand
    int64_t* stops  # ends of its words
    uint64_t* keys  # two for each of its words: key and place
    int64_t row_room
    bint failed


cdef inline bint add_token(Encoder* e, const uint8_t* p, int64_t n) noexcept nogil:
    # The caller has made room for the tokens of the whole row.
    cdef int64_t word = add_word(&e.table, p, n)
    (<uint32_t*>(e.tokens.data + e.tokens.size))[0] = <uint32_t>word
    e.tokens.size += 4
    return word >= 0


cdef struct Ascii:
    # The state of the pass over an ASCII row.
    int64_t size  # cleaned bytes so far
    int64_t word  # where the word in hand starts
    int64_t words  # words ended
    uint64_t last  # the character before, in lower case
    uint64_t before  # and the one before that
    bint letters


cdef inline bint eight_bytes(Encoder* e, const uint8_t* p, Ascii* s) noexcept nogil:
    # Take eight letters, digits and single spaces, no three equal ones in a row; False: they are something else.
    cdef uint64_t x = 0, low, spaces, same
    memcpy(&x, p, 8)
    low = x | EVERY(0x20)
    if x & HIGH:
        return False
    spaces = zeros(x ^ EVERY(0x20))
    if (spaces | between(low, 0x61, 0x7A) | between(x, 0x30, 0x39)) != HIGH:
        return False
    if spaces & ((spaces << 8) | (0x80 if s.size == s.word else 0)):
        return False
    same = zeros(low ^ ((low << 8) | s.last))
    if same & ((same << 8) | (0x80 if s.last == s.before else 0)):
        return False
    memcpy(e.row + s.size, &low, 8)
    s.letters |= (x & EVERY(0x40)) != 0
    while spaces:
        e.stops[s.words] = s.size + (count_zeros(spaces) >> 3)
        s.word = e.stops[s.words] + 1
        s.words += 1
        spaces &= spaces - 1
    s.size += 8
    s.last = low >> 56
    s.before = (low >> 48) & 0xFF
    return True


cdef inline bint some_bytes(Encoder* e, const uint8_t* p, int64_t i, int64_t stop, int64_t n, Ascii* s) noexcept nogil:
    # Take the bytes [i, stop) of a row of n one by one; False: the row needs the general path.
    cdef uint8_t* out = e.row
    cdef uint8_t c, kind
    while i < stop:
        c = p[i]
        i += 1
        if c >= 128:
            return False
        kind = CLASS[c]
        if kind <= DIGIT:  # one branch for both: in mixed text a second one is mispredicted at every other character
            c |= 32  # a digit has this bit already
            if c == s.last and c == s.before and kind == LETTER:
                continue
            s.letters |= kind == LETTER
            out[s.size] = c
            s.size += 1
        else:
            if kind != BLANK and (kind == GENERAL or i < n and starts_something(kind, p[i], <uint8_t>s.last, <uint8_t>s.before)):
                return False
            if s.size > s.word:
                e.stops[s.words] = s.size
                s.words += 1
                out[s.size] = 32
                s.size += 1
                s.word = s.size
        s.before = s.last
        s.last = c
    return True


cdef int64_t ascii_row(Encoder* e, const uint8_t* p, int64_t n, int64_t* num_words) noexcept nogil:
    # Clean an ASCII row into e.row, its words' ends into e.stops; -1: the row needs the general path.
    cdef Ascii s
    cdef int64_t i = 0, stop
    memset(&s, 0, sizeof(s))
    while i < n:
        if i + 8 > n or not eight_bytes(e, p + i, &s):
            stop = min(i + 8, n)
            if not some_bytes(e, p, i, stop, n, &s):
                return -1
        i += 8
    if s.size > s.word:
        e.stops[s.words] = s.size
        s.words += 1
    elif s.size > 0:
        s.size -= 1
    if s.words == 1 and not s.letters:  # digits only
        s.words = 0
    num_words[0] = s.words
    return s.size if s.words else 0


cdef inline bint starts_something(uint8_t kind, uint8_t following, uint8_t last, uint8_t before) noexcept nogil:
    # May this point or colon be part of a domain, a decimal number or a URL?
    if kind == SLASHED:
        return following == 47
    return following >= 128 or CLASS[following] < BLANK or (last == 119 and before == 119)


cdef bint encode_ascii(Encoder* e, int64_t num_words) noexcept nogil:
    cdef int64_t i, start = 0, word
    cdef uint32_t* out = <uint32_t*>(e.tokens.data + e.tokens.size)  # the caller has made room
    for i in range(num_words):
        e.keys[2 * i] = key_of(e.row + start, e.stops[i] - start)
        e.keys[2 * i + 1] = place_of(e.keys[2 * i])
        prefetch(&e.table.slots[e.keys[2 * i + 1] & e.table.mask])
        start = e.stops[i] + 1
    start = 0
    for i in range(num_words):
        word = add_keyed(&e.table, e.keys[2 * i], e.keys[2 * i + 1], e.row + start, e.stops[i] - start)
        if word < 0:
            return False
        out[i] = <uint32_t>word
        start = e.stops[i] + 1
    e.tokens.size += 4 * num_words
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
    cdef uint64_t* keys
    if size <= e.row_room:
        return True
    row = <uint8_t*>realloc(e.row, 2 * size + 16)
    if row != NULL:
        e.row = row
    stops = <int64_t*>realloc(e.stops, (size + 16) * sizeof(int64_t))  # every second byte can end a word
    if stops != NULL:
        e.stops = stops
    keys = <uint64_t*>realloc(e.keys, 2 * (size + 16) * sizeof(uint64_t))
    if keys != NULL:
        e.keys = keys
    if row == NULL or stops == NULL or keys == NULL:
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
    free(e.keys)


def encode_rows(
    Tables tables,
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    int script,
    int keep_texts,
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
                e.failed = size < 0 or (keep_texts + unstable_view[i] > 1 and not keep_text(&e, size))
                size_view[i] = size
                stop_view[i] = e.tokens.size // 4
        if e.failed:
            raise MemoryError
        return {
            "tokens": take_array(&e.tokens, np.uint32),
            "token_stops": token_stops,
            "words": take_array(&e.table.words, np.uint8),
            "word_stops": take_array(&e.table.stops, np.int64),
            "hashes": hashes,
            "sizes": sizes,
            "unstable": unstable,
            "texts": take_array(&e.texts, np.uint8),
        }
    finally:
        free_encoder(&e)
