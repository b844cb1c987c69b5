"""Exact mode on integers: which rows repeat, which words each language knows, and what that says about a row.

All that a further training cycle repeats is here: no text, no hashing of words. Counts are integers, so any cut into
shards gives the same bytes; where order matters (a word's languages, in order of first use) shards are folded in order.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

import numpy as np

cdef struct Entry:
    # One (word, language); the first entry of word w is entries[w] itself: one cache line per look-up.
    int32_t language  # -1: the word has none yet
    uint32_t count
    int64_t last_row
    int64_t next  # 0: none (entry 0 is always a first one)


def first_rows(const uint64_t[:, ::1] hashes, const int64_t[::1] sizes):
    """For each row the lowest row with the same hash (itself, if it is the first); -1 for an empty row."""
    cdef int64_t n = sizes.shape[0], r, other
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
            if sizes[r] == 0:
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


def accumulate(
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const int32_t[::1] labels,
    const uint8_t[::1] keep,
    int64_t num_words,
    bint once_per_row,
):
    """Count (word, language) over the kept rows: (stops, languages, counts), languages in order of first use.

    ``once_per_row`` counts rows that hold the word; otherwise its occurrences.
    """
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


def score_rows(
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const int64_t[::1] word_stops,
    const int32_t[::1] languages,
    int num_languages,
):
    """How many of a row's tokens the best two languages know.

    Returns (top language int32 or -1, its tokens, the runner-up's tokens, all tokens: int32 each). Equal languages: the
    one met first, going through the tokens and each word's languages in order. A token 0xFFFFFFFF is no known word.
    """
    cdef int64_t n = token_stops.shape[0], r, t, k, start = 0, num_words = word_stops.shape[0]
    cdef uint32_t w
    cdef int32_t i, num_seen, l, best, count, best_count, second
    top, firsts, seconds, totals = (np.empty(n, np.int32) for _ in range(4))
    cdef int32_t[::1] top_view = top, first_view = firsts, second_view = seconds, total_view = totals
    cdef int32_t* counts = <int32_t*>calloc(num_languages + 1, sizeof(int32_t))
    cdef int32_t* seen = <int32_t*>calloc(num_languages + 1, sizeof(int32_t))
    if counts == NULL or seen == NULL:
        free(counts)
        free(seen)
        raise MemoryError
    with nogil:
        for r in range(n):
            num_seen = 0
            for t in range(start, token_stops[r]):
                w = tokens[t]
                if w >= num_words:
                    continue
                for k in range(word_stops[w - 1] if w else 0, word_stops[w]):
                    l = languages[k]
                    if counts[l] == 0:
                        seen[num_seen] = l
                        num_seen += 1
                    counts[l] += 1
            best = -1
            best_count = 0
            second = 0
            for i in range(num_seen):
                count = counts[seen[i]]
                counts[seen[i]] = 0
                if count > best_count:
                    second = best_count
                    best_count = count
                    best = seen[i]
                elif count > second:
                    second = count
            top_view[r] = best
            first_view[r] = best_count
            second_view[r] = second
            total_view[r] = <int32_t>(token_stops[r] - start)
            start = token_stops[r]
    free(counts)
    free(seen)
    return top, firsts, seconds, totals
