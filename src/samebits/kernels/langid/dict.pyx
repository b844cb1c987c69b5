"""Exact mode on integers: which rows repeat, and which words each language knows (``langid_known``: what that says of a row).

All that a further training cycle repeats is here: no text, no hashing of words. Counts are integers, so any cut into
shards gives the same bytes; where order matters (a word's languages, in order of first use) shards are folded in order.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

import numpy as np

from samebits.kernels.langid.text.words cimport prefetch

cdef enum:
    AHEAD = 16  # rows


cdef struct Entry:
    # One (word, language); the first entry of word w is entries[w] itself: one cache line per look-up.
    int32_t language  # -1: the word has none yet
    uint32_t count
    int64_t last_row
    int64_t next  # 0: none (entry 0 is always a first one)


def first_rows(const uint64_t[:, ::1] hashes, const uint8_t[::1] kept):
    """For each row the lowest row with the same hash (itself, if it is the first); -1 for a row that is not kept."""
    cdef int64_t n = kept.shape[0], r, other
    cdef uint64_t mask = 1023, k
    while mask < <uint64_t>(2 * n):
        mask = 2 * mask + 1
    first = np.full(n, -1, np.int64)
    cdef int64_t[::1] out = first
    cdef int32_t* table = <int32_t*>calloc(mask + 1, sizeof(int32_t))  # row + 1
    if n >= 0x7FFFFFFF:
        free(table)
        raise OverflowError("more than 2**31 rows")
    if table == NULL:
        raise MemoryError
    with nogil:
        for r in range(n):
            if r + AHEAD < n:  # asked for before it is needed
                prefetch(&table[hashes[r + AHEAD, 0] & mask])
            if not kept[r]:
                continue
            k = hashes[r, 0] & mask
            out[r] = r
            while table[k]:
                other = table[k] - 1
                if hashes[other, 0] == hashes[r, 0] and hashes[other, 1] == hashes[r, 1]:
                    out[r] = other
                    break
                k = (k + 1) & mask
            if out[r] == r:
                table[k] = <int32_t>(r + 1)
    free(table)
    return first


cdef int64_t entry_of(Entry** entries, int64_t* size, int64_t* room, int64_t word, int32_t language) noexcept nogil:
    # The entry of (word, language), made at the end of the word's list if it is new; -1 without memory.
    cdef int64_t e = word
    cdef Entry* wider
    if entries[0][e].language < 0:
        entries[0][e].language = language
        return e
    while entries[0][e].language != language:
        if entries[0][e].next == 0:
            if size[0] == room[0]:
                room[0] = 2 * room[0] + 1024
                wider = <Entry*>realloc(entries[0], room[0] * sizeof(Entry))
                if wider == NULL:
                    return -1
                entries[0] = wider
            entries[0][e].next = size[0]
            entries[0][size[0]] = Entry(language=language, count=0, last_row=-1, next=0)
            size[0] += 1
            return size[0] - 1
        e = entries[0][e].next
    return e


cdef object csr_of(const Entry* entries, int64_t num_words, int64_t num_entries):
    # Lists -> (stops int64, languages int32, counts uint32), languages of a word in order of first use.
    cdef int64_t w, e, k = 0
    stops = np.empty(num_words, np.int64)
    languages, counts = np.empty(num_entries, np.int32), np.empty(num_entries, np.uint32)
    cdef int64_t[::1] stop_view = stops
    cdef int32_t[::1] language_view = languages
    cdef uint32_t[::1] count_view = counts
    with nogil:
        for w in range(num_words):
            e = w
            if entries[e].language >= 0:
                while True:
                    language_view[k] = entries[e].language
                    count_view[k] = entries[e].count
                    k += 1
                    e = entries[e].next
                    if e == 0:
                        break
            stop_view[w] = k
    return stops, languages[:k], counts[:k]


cdef enum:
    DENSE_CELLS = 1 << 22  # words times languages: up to 24 MB a task


def accumulate(
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const int32_t[::1] labels,
    const uint8_t[::1] keep,
    int64_t num_words,
    int64_t num_languages,
    bint once_per_row,
):
    """Count (word, language) over the kept rows, for the words that occur: (words, stops, languages, counts).

    Entries ``stops[i-1]:stops[i]`` belong to ``words[i]``, languages in order of first use. ``once_per_row`` counts rows that
    hold the word; otherwise its occurrences. Few languages are counted in a table of all pairs, many in lists.
    """
    cdef uint16_t narrow = 0
    cdef uint32_t wide = 0
    if num_words * (num_languages + 1) <= DENSE_CELLS:
        if once_per_row and labels.shape[0] < 0xFFFF:
            return in_table(tokens, token_stops, labels, keep, num_words, num_languages, once_per_row, narrow)
        return in_table(tokens, token_stops, labels, keep, num_words, num_languages, once_per_row, wide)
    stops, languages, counts = in_lists(tokens, token_stops, labels, keep, num_words, once_per_row)
    words = np.flatnonzero(np.diff(stops, prepend=np.int64(0)))
    return words.astype(np.uint32), stops[words], languages, counts


ctypedef fused cell:
    # No row and no count is above the number of rows when rows are counted, and half the table is more of it in the cache.
    uint16_t
    uint32_t


cdef object in_table(
    const uint32_t[::1] tokens, const int64_t[::1] token_stops, const int32_t[::1] labels, const uint8_t[::1] keep,
    int64_t num_words, int64_t num_languages, bint once_per_row, cell kind,
):
    # A word's cells: the row it was last met in (+ 1; a row has one label), then its count in each language.
    cdef int64_t r, t, start = 0, width = num_languages + 1, num_entries = 0, num_present = 0
    cdef cell* table = <cell*>calloc(max(1, num_words * width), sizeof(cell))
    cdef uint16_t* ranks = <uint16_t*>malloc(max(1, num_words * num_languages) * sizeof(uint16_t))
    cdef uint16_t* known = <uint16_t*>calloc(max(1, num_words), sizeof(uint16_t))
    cdef cell* cells
    cdef uint32_t w
    cdef int32_t label
    try:
        if table == NULL or ranks == NULL or known == NULL:
            raise MemoryError
        with nogil:
            for r in range(labels.shape[0]):
                label = labels[r]
                for t in range(start, token_stops[r] if keep[r] else start):
                    w = tokens[t]
                    cells = table + w * width
                    if once_per_row and cells[0] == <cell>(r + 1):
                        continue
                    cells[0] = <cell>(r + 1)
                    cells[1 + label] += 1
                    if cells[1 + label] == 1:  # a language new to this word: its place is the next
                        ranks[w * num_languages + label] = known[w]
                        num_present += known[w] == 0
                        known[w] += 1
                        num_entries += 1
                start = token_stops[r]
        return from_table(<const cell*>table, ranks, known, num_words, num_languages, num_present, num_entries)
    finally:
        free(table)
        free(ranks)
        free(known)


cdef object from_table(
    const cell* table, const uint16_t* ranks, const uint16_t* known,
    int64_t num_words, int64_t num_languages, int64_t num_present, int64_t num_entries,
):
    cdef int64_t w, l, i = 0, k = 0
    words, stops = np.empty(num_present, np.uint32), np.empty(num_present, np.int64)
    languages, counts = np.empty(num_entries, np.int32), np.empty(num_entries, np.uint32)
    cdef uint32_t[::1] word_view = words, count_view = counts
    cdef int64_t[::1] stop_view = stops
    cdef int32_t[::1] language_view = languages
    cdef const cell* cells
    with nogil:
        for w in range(num_words):
            if known[w] == 0:
                continue
            cells = table + w * (num_languages + 1) + 1
            for l in range(num_languages):
                if cells[l]:
                    language_view[k + ranks[w * num_languages + l]] = <int32_t>l
                    count_view[k + ranks[w * num_languages + l]] = cells[l]
            k += known[w]
            word_view[i] = <uint32_t>w
            stop_view[i] = k
            i += 1
    return words, stops, languages, counts


cdef object in_lists(
    const uint32_t[::1] tokens, const int64_t[::1] token_stops, const int32_t[::1] labels, const uint8_t[::1] keep,
    int64_t num_words, bint once_per_row,
):
    cdef int64_t r, t, e = 0, start = 0, size = num_words, room = num_words + 1024, w
    cdef Entry* entries = <Entry*>malloc(room * sizeof(Entry))
    if entries == NULL:
        raise MemoryError
    try:
        with nogil:
            for w in range(num_words):
                entries[w] = Entry(language=-1, count=0, last_row=-1, next=0)
            for r in range(labels.shape[0]):
                if keep[r]:
                    for t in range(start, token_stops[r]):
                        e = entry_of(&entries, &size, &room, tokens[t], labels[r])
                        if e < 0:
                            break
                        if not once_per_row or entries[e].last_row != r:
                            entries[e].last_row = r
                            entries[e].count += 1
                    if e < 0:
                        break
                start = token_stops[r]
        if e < 0:
            raise MemoryError
        return csr_of(entries, num_words, size)
    finally:
        free(entries)


cdef class Dictionary:
    """Sums of ``accumulate`` results, added in shard order."""

    cdef Entry* entries
    cdef int64_t size
    cdef int64_t room
    cdef int64_t num_words

    def __cinit__(self, int64_t num_words):
        cdef int64_t w
        self.num_words = num_words
        self.size = num_words
        self.room = num_words + 1024
        self.entries = <Entry*>malloc(self.room * sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError
        for w in range(num_words):
            self.entries[w] = Entry(language=-1, count=0, last_row=-1, next=0)

    def __dealloc__(self):
        free(self.entries)

    def add(self, const uint32_t[::1] words, const int64_t[::1] stops, const int32_t[::1] languages, const uint32_t[::1] counts):
        """Add one shard: entries ``stops[i-1]:stops[i]`` belong to word ``words[i]``."""
        cdef int64_t i, k, e = 0, start = 0
        with nogil:
            for i in range(words.shape[0]):
                for k in range(start, stops[i]):
                    e = entry_of(&self.entries, &self.size, &self.room, words[i], languages[k])
                    if e < 0:
                        break
                    self.entries[e].count += counts[k]
                if e < 0:
                    break
                start = stops[i]
        if e < 0:
            raise MemoryError

    def export(self):
        """(stops, languages, counts) over all words."""
        return csr_of(self.entries, self.num_words, self.size)
