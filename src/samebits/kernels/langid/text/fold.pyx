"""Text rows -> integers for backoff mode: NFC, letters and marks in lower case, everything else ends a word. Joiners do so in Arabic script only.

ASCII rows take a short loop; a row with a character that NFC may touch is normalised by the committed tables first.
Words are numbered in order of first occurrence, as in exact mode, and a row's identity is the hash of its words.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.text.unicode cimport (
    COMPOSES, Points, Tables, compose, decode, decompose, encode, flags_of, record_of,
)
from samebits.kernels.langid.text.words cimport (
    SLACK, Bytes, WordTable, add_word, free_table, hash_row, need, start_table, take_array,
)

cdef enum:
    ZWNJ = 0x200C
    ZWJ = 0x200D
    HEH = 0x0647
    AE = 0x06D5  # long written as heh with a non-joiner in Sorani; both take two bytes


cdef struct Folder:
    WordTable table
    Bytes tokens  # uint32 each
    Bytes row  # the row's words, a space behind each
    uint32_t* points
    uint32_t* wide


cdef int64_t points_of(const Points* t, Folder* f, const uint8_t* p, int64_t n, int64_t most, uint8_t* cut) noexcept nogil:
    # Decode at most ``most`` code points into f.points, NFC; sets cut if the row is longer.
    cdef int64_t i = 0, m = 0
    cdef bint plain = True
    while i < n and m < most:
        f.points[m] = decode(p, &i)
        if f.points[m] >= 0x300 and flags_of(t, f.points[m]) & COMPOSES:
            plain = False
        m += 1
    cut[0] = i < n
    if plain:
        return m
    m = compose(t, f.wide, decompose(t, f.points, m, f.wide))
    for i in range(min(m, most)):
        f.points[i] = f.wide[i]
    return min(m, most)


cdef bint end_word(Folder* f, int64_t start) noexcept nogil:
    # The bytes from start on are a word: number it.
    cdef int64_t word = add_word(&f.table, f.row.data + start, f.row.size - start)
    (<uint32_t*>(f.tokens.data + f.tokens.size))[0] = <uint32_t>word
    f.tokens.size += 4
    f.row.data[f.row.size] = 32
    f.row.size += 1
    return word >= 0


cdef bint fold_row(const Points* t, Folder* f, const uint8_t* p, int64_t n, int64_t most, uint64_t* identity, uint8_t* cut) noexcept nogil:
    cdef int64_t i, m = points_of(t, f, p, n, most, cut), start = 0
    cdef int64_t folded
    f.row.size = 0
    if not need(&f.row, 5 * m + SLACK) or not need(&f.tokens, 4 * m + 4):
        return False
    for i in range(m):
        folded = <int64_t>f.points[i] + t.fold[record_of(t, f.points[i])]
        if f.points[i] == ZWNJ and f.row.size > start and f.points[i - 1] == HEH:
            encode(AE, f.row.data + f.row.size - 2)
        elif f.points[i] == ZWJ or (f.points[i] == ZWNJ and not (i and 0x600 <= f.points[i - 1] < 0x700)):
            pass
        elif folded > 0:
            f.row.size += encode(<uint32_t>folded, f.row.data + f.row.size)
        elif f.row.size > start:
            if not end_word(f, start):
                return False
            start = f.row.size
    if f.row.size > start and not end_word(f, start):
        return False
    if f.row.size:
        hash_row(f.row.data, f.row.size, identity)
    return True


def fold_rows(
    Tables tables, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, int64_t most_points
):
    """Fold and encode rows ``buffer[starts[i]:stops[i]]`` of valid UTF-8; see the stub for the result."""
    cdef int64_t n = starts.shape[0], i
    cdef bint ok = True
    token_stops, hashes, cut = np.empty(n, np.int64), np.zeros((n, 2), np.uint64), np.zeros(n, np.uint8)
    cdef int64_t[::1] stop_view = token_stops
    cdef uint64_t[:, ::1] hash_view = hashes
    cdef uint8_t[::1] cut_view = cut
    cdef const uint8_t* data = &buffer[0] if buffer.shape[0] else NULL
    cdef Folder f
    memset(&f, 0, sizeof(f))
    try:
        with nogil:
            f.points = <uint32_t*>malloc((most_points + 1) * sizeof(uint32_t))
            f.wide = <uint32_t*>malloc((4 * most_points + 4) * sizeof(uint32_t))
            ok = start_table(&f.table, 1 << 14) and f.points != NULL and f.wide != NULL
            for i in range(n):
                if not ok:
                    break
                ok = fold_row(
                    &tables.points, &f, data + starts[i], stops[i] - starts[i], most_points, &hash_view[i, 0], &cut_view[i]
                )
                stop_view[i] = f.tokens.size // 4
        if not ok:
            raise MemoryError
        return {
            "tokens": take_array(&f.tokens, np.uint32),
            "token_stops": token_stops,
            "words": take_array(&f.table.words, np.uint8),
            "word_stops": take_array(&f.table.stops, np.int64),
            "hashes": hashes,
            "cut": cut,
        }
    finally:
        free_table(&f.table)
        free(f.tokens.data)
        free(f.row.data)
        free(f.points)
        free(f.wide)
