"""The compact model's features: n-grams of 1 to 5 letters of a word between its edges, and the word itself.

Unlike backoff mode's, they are read as a character language model: an n-gram's last letter is predicted from the letters
before it. So every n-gram is linked to its context (without the last letter) and to the shorter n-gram it refines
(without the first). Counting goes part by part of the key space, each part on its own, so parts may run anywhere.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from samebits.kernels.langid.features cimport mix
from samebits.kernels.langid.ngrams cimport (
    END, LONGEST_WORD, MOST_LETTERS, START, WORD_GROUP, extend, first_hash, key_of, word_key,
)
from samebits.kernels.langid.text.unicode cimport decode
from samebits.kernels.langid.text.words cimport prefetch

cdef enum:
    AHEAD = 16  # keys

cdef struct Pair:
    uint64_t key
    uint64_t where  # word << 24 | first letter << 8 | letters; 0 letters: the word itself
    uint32_t language  # + 1; 0 = free
    uint32_t count

cdef struct PairTable:
    Pair* pairs
    uint64_t mask
    uint64_t size


cdef int64_t edged_of(const unsigned char* p, int64_t n, uint32_t* out) noexcept nogil:
    """Code points of the folded word p[:n] with its edges into out (room: n + 2); returns how many."""
    cdef int64_t i = 0, k = 1
    out[0] = START
    while i < n:
        out[k] = decode(p, &i)
        k += 1
    out[k] = END
    return k + 1


cdef bint widen(PairTable* t) noexcept nogil:
    cdef uint64_t num = 2 * (t.mask + 1), j, k
    cdef Pair* pairs = <Pair*>calloc(num, sizeof(Pair))
    if pairs == NULL:
        return False
    for j in range(t.mask + 1):
        if t.pairs[j].language:
            k = (t.pairs[j].key ^ mix(t.pairs[j].language)) & (num - 1)
            while pairs[k].language:
                k = (k + 1) & (num - 1)
            pairs[k] = t.pairs[j]
    free(t.pairs)
    t.pairs = pairs
    t.mask = num - 1
    return True


cdef bint add_pair(PairTable* t, uint64_t key, uint64_t where, uint32_t language, uint32_t count) noexcept nogil:
    cdef uint64_t k = (key ^ mix(language)) & t.mask
    while t.pairs[k].language:
        if t.pairs[k].key == key and t.pairs[k].language == language:
            t.pairs[k].count += count
            return True
        k = (k + 1) & t.mask
    t.pairs[k] = Pair(key=key, where=where, language=language, count=count)
    t.size += 1
    return widen(t) if 4 * t.size > 3 * t.mask else True


cdef int64_t longest_of(const int64_t[::1] stops):
    cdef int64_t w, longest = 0
    for w in range(stops.shape[0]):
        longest = max(longest, stops[w] - (stops[w - 1] if w else 0))
    return longest


cdef bint count_word(
    PairTable* t, const uint32_t* c, int64_t n, uint64_t word, uint64_t part, uint64_t parts,
    const int32_t* languages, const uint32_t* counts, const uint32_t* raw, int64_t num,
) noexcept nogil:
    cdef int64_t s, e
    cdef int length
    cdef uint64_t h, key
    cdef bint ok = True
    for s in range(n):
        h = first_hash()
        for length in range(1, min(MOST_LETTERS, n - s) + 1):
            h = extend(h, c[s + length - 1])
            key = key_of(h, length)
            if (key >> 32) * parts >> 32 == part:
                for e in range(num):
                    ok = ok and add_pair(t, key, word << 24 | <uint64_t>s << 8 | length, languages[e] + 1, counts[e])
    if n <= LONGEST_WORD + 2:
        key = word_key(c, n)
        if (key >> 32) * parts >> 32 == part:
            for e in range(num):
                ok = ok and add_pair(t, key, word << 24, languages[e] + 1, raw[e])
    return ok


def count_ngrams(
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    const int64_t[::1] entry_stops,
    const int32_t[::1] languages,
    const uint32_t[::1] counts,
    const uint32_t[::1] raw,
    int64_t part,
    int64_t parts,
    uint32_t least,
):
    """One part of the features with their counts by language, unsorted; see the stub."""
    cdef int64_t w, start, entry = 0, n
    cdef bint ok = True
    cdef PairTable t
    cdef uint32_t* edged = <uint32_t*>malloc((longest_of(word_stops) + 2) * sizeof(uint32_t))
    t.mask = (1 << 16) - 1
    t.size = 0
    t.pairs = <Pair*>calloc(t.mask + 1, sizeof(Pair))
    try:
        with nogil:
            ok = edged != NULL and t.pairs != NULL
            for w in range(word_stops.shape[0]):
                if not ok:
                    break
                start = word_stops[w - 1] if w else 0
                if entry_stops[w] > entry and word_stops[w] > start:
                    n = edged_of(&words[start], word_stops[w] - start, edged)
                    ok = count_word(
                        &t, edged, n, w, part, parts, &languages[entry], &counts[entry], &raw[entry],
                        entry_stops[w] - entry,
                    )
                entry = entry_stops[w]
        if not ok:
            raise MemoryError
        return exported(&t, least)
    finally:
        free(edged)
        free(t.pairs)


cdef object exported(const PairTable* t, uint32_t least):
    cdef uint64_t j
    cdef int64_t k = 0
    for j in range(t.mask + 1):
        k += t.pairs[j].language and t.pairs[j].count >= least
    keys, where = np.empty(k, np.uint64), np.empty(k, np.uint64)
    languages, counts = np.empty(k, np.uint16), np.empty(k, np.uint32)
    cdef uint64_t[::1] key_view = keys, where_view = where
    cdef unsigned short[::1] language_view = languages
    cdef uint32_t[::1] count_view = counts
    k = 0
    for j in range(t.mask + 1):
        if t.pairs[j].language and t.pairs[j].count >= least:
            key_view[k] = t.pairs[j].key
            where_view[k] = t.pairs[j].where
            language_view[k] = <unsigned short>(t.pairs[j].language - 1)
            count_view[k] = t.pairs[j].count
            k += 1
    return keys, where, languages, counts


cdef class FeatureIndex:
    """Where each of the sorted keys is. Threads may share one."""

    cdef const uint64_t[::1] keys
    cdef int32_t* slots  # feature + 1
    cdef uint64_t mask

    def __cinit__(self, const uint64_t[::1] keys):
        cdef int64_t f, n = keys.shape[0]
        cdef uint64_t k
        self.keys = keys
        self.mask = 1023
        while self.mask < 2 * <uint64_t>n:
            self.mask = 2 * self.mask + 1
        self.slots = <int32_t*>calloc(self.mask + 1, sizeof(int32_t))
        if self.slots == NULL:
            raise MemoryError
        with nogil:
            for f in range(n):
                if f + AHEAD < n:  # asked for before it is needed
                    prefetch(&self.slots[keys[f + AHEAD] & self.mask])
                k = keys[f] & self.mask
                while self.slots[k]:
                    k = (k + 1) & self.mask
                self.slots[k] = <int32_t>f + 1

    def __dealloc__(self):
        free(self.slots)

    cdef int64_t find(self, uint64_t key) noexcept nogil:
        cdef uint64_t k = key & self.mask
        while self.slots[k]:
            if self.keys[self.slots[k] - 1] == key:
                break
            k = (k + 1) & self.mask
        return <int64_t>self.slots[k] - 1


cdef uint64_t hashed(const uint32_t* c, int64_t start, int length) noexcept nogil:
    cdef uint64_t h = first_hash()
    cdef int i
    for i in range(length):
        h = extend(h, c[start + i])
    return key_of(h, length)


def link_ngrams(
    FeatureIndex index,
    const uint64_t[::1] where,
    const int64_t[::1] stops,
    const uint8_t[::1] languages,
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    int64_t first,
    int64_t last,
    uint8_t[::1] groups,
    uint8_t[::1] ends,
    int32_t[::1] contexts,
    int32_t[::1] shorter,
):
    """For features ``first`` to ``last`` their group and whether they end a word, and for their entries context and shorter n-gram.

    Written to ``groups``, ``ends`` (1: last letter is the end edge, 2: the start edge alone), ``contexts`` and ``shorter``
    (entry numbers; -1, which must be there before, for none; a word's shorter one is the n-gram at its start).
    """
    cdef int64_t f, n, w, a, length, start, x, y
    cdef uint32_t* c = <uint32_t*>malloc((longest_of(word_stops) + 2) * sizeof(uint32_t))
    if c == NULL:
        raise MemoryError
    with nogil:
        for f in range(first, last):
            w, start, length = <int64_t>(where[f] >> 24), <int64_t>(where[f] >> 8 & 0xFFFF), <int64_t>(where[f] & 255)
            a = word_stops[w - 1] if w else 0
            n = edged_of(&words[a], word_stops[w] - a, c)
            x, y = -1, -1
            ends[f] = 0
            if length == 0:
                groups[f] = WORD_GROUP
                y = index.find(hashed(c, 0, <int>min(3, n)))
            else:
                groups[f] = <uint8_t>(length - 1)
                ends[f] = 1 if c[start + length - 1] == END else 2 if length == 1 and c[start] == START else 0
                if length > 1:
                    x, y = index.find(hashed(c, start, <int>length - 1)), index.find(hashed(c, start + 1, <int>length - 1))
            link(stops, languages, f, x, contexts)
            link(stops, languages, f, y, shorter)
    free(c)


cdef void link(
    const int64_t[::1] stops, const uint8_t[::1] languages, int64_t f, int64_t other, int32_t[::1] out
) noexcept nogil:
    # Both lists are sorted by language, and the other's has every language of f's where it was not pruned.
    cdef int64_t e, o, last
    if other < 0:
        return
    o, last = stops[other - 1] if other else 0, stops[other]
    for e in range(stops[f - 1] if f else 0, stops[f]):
        while o < last and languages[o] < languages[e]:
            o += 1
        if o < last and languages[o] == languages[e]:
            out[e] = <int32_t>o


def sum_words(
    FeatureIndex index,
    const uint64_t[::1] where,
    const int64_t[::1] stops,
    const uint8_t[::1] languages,
    const int32_t[::1] values,
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    int64_t first,
    int64_t last,
    int64_t out,
    int64_t[::1] totals,
    int32_t[::1] letters,
):
    """For each entry of the words among features ``first`` to ``last`` the sum of its n-grams' values in that language, and how
    many letters are known; written to ``totals`` and ``letters`` from ``out`` on.
    """
    cdef int64_t f, w, a, n, s, x, e, known
    cdef int length
    cdef uint64_t h
    cdef int64_t sums[256]
    cdef uint64_t keys[MOST_LETTERS * (LONGEST_WORD + 2)]
    cdef uint32_t* c = <uint32_t*>malloc((longest_of(word_stops) + 2) * sizeof(uint32_t))
    if c == NULL:
        raise MemoryError
    with nogil:
        for f in range(first, last):
            if where[f] & 255:
                continue
            w = <int64_t>(where[f] >> 24)
            a = word_stops[w - 1] if w else 0
            n = edged_of(&words[a], word_stops[w] - a, c)
            known = 0
            for s in range(n):  # ask for the memory of all n-grams before the first is needed; a word feature has few letters
                h = first_hash()
                for length in range(1, min(MOST_LETTERS, n - s) + 1):
                    h = extend(h, c[s + length - 1])
                    keys[MOST_LETTERS * s + length - 1] = key_of(h, length)
                    prefetch(&index.slots[keys[MOST_LETTERS * s + length - 1] & index.mask])
            for s in range(n):
                for length in range(1, min(MOST_LETTERS, n - s) + 1):
                    x = index.slots[keys[MOST_LETTERS * s + length - 1] & index.mask]
                    prefetch(&index.keys[x - 1 if x else 0])
            for e in range(stops[f - 1] if f else 0, stops[f]):
                sums[languages[e]] = 0
            for s in range(n):
                for length in range(1, min(MOST_LETTERS, n - s) + 1):
                    x = index.find(keys[MOST_LETTERS * s + length - 1])
                    if x < 0:
                        break
                    known += length == 1 and s > 0
                    for e in range(stops[x - 1] if x else 0, stops[x]):
                        sums[languages[e]] += values[e]
            for e in range(stops[f - 1] if f else 0, stops[f]):
                totals[out] = sums[languages[e]]
                letters[out] = <int32_t>known
                out += 1
    free(c)
