"""Scores of the compact model: a text's n-grams are looked up in one flat, memory-mapped stream of 16-bit numbers.

The stream is cut into buckets by the key's high bits. A feature is its key's low 16 bits, then one number per language:
``last << 15 | level << 8 | language``. Levels are 128 values in 1/64 bit. An n-gram's extensions are only there if the
n-gram is, so a miss ends the search from that letter. All sums are of integers: no order, thread or machine changes them.

Features of many languages are also kept as dense rows, made when the model is loaded: one addition per 8 languages. Sums
are kept in the order of how often a language is in such rows, so that a row is one short stretch: the languages of a script
lie together. Memory is what takes time, so whatever a word needs is announced before it is read.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.text.no_language cimport is_noise
from samebits.kernels.langid.ngrams cimport LONGEST_WORD, MOST_LETTERS, extend, first_hash, key_of, word_key
from samebits.kernels.langid.text.reading cimport Reader, free_reader, next_word, read_text, start_reader
from samebits.kernels.langid.text.unicode cimport Points, Tables

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define prefetch(p) __builtin_prefetch(p)
    #define DENSE_ABOVE 24 /* languages: from here on a dense row is faster than a list */

    static inline int goes_on(const uint16_t* entries) { /* none of the first 24 is the last */
        uint64_t w[6];
        memcpy(w, entries, sizeof w);
        return !((w[0] | w[1] | w[2] | w[3] | w[4] | w[5]) & 0x8000800080008000ull);
    }

    static inline void add_row(const int16_t* restrict row, int eights, int32_t* restrict sums) {
        for (int k = 0; k < 8 * eights; k++) sums[k] += row[k];
    }
    """
    enum: DENSE_ABOVE
    void prefetch(const void* p) nogil
    bint goes_on(const uint16_t* entries) nogil
    void add_row(const int16_t* row, int eights, int32_t* sums) nogil

cdef enum:
    PAD = 8
    CACHED_WORDS = 4096
    LEAST_TEXTS = 256
    MOST_PLACES = 1 << 30
    MOST_ROWS = 1 << 24

cdef uint16_t LAST = 1 << 15


cdef bint well_formed(const uint32_t[::1] buckets, const uint16_t[::1] stream, int num_languages) noexcept nogil:
    cdef int64_t b, i
    cdef bint inside
    for b in range(buckets.shape[0] - 1):
        if buckets[b + 1] < buckets[b] or buckets[b + 1] > stream.shape[0]:
            return False
        i = buckets[b]
        while i < buckets[b + 1]:
            i += 1  # the check
            inside = True
            while inside and i < buckets[b + 1]:
                if (stream[i] & 255) >= num_languages:
                    return False
                inside = not stream[i] & LAST
                i += 1
            if inside:
                return False
    return True


def check_stream(const uint32_t[::1] buckets, const uint16_t[::1] stream, int num_languages):
    """Whether the stream is well formed: buckets in order and whole, languages known. Nothing else is trusted later."""
    cdef bint fine
    if buckets.shape[0] < 3 or buckets[0] != 0 or buckets[buckets.shape[0] - 1] != stream.shape[0]:
        return False
    with nogil:
        fine = well_formed(buckets, stream, num_languages)
    return bool(fine) and stream.shape[0] > 0


cdef uint64_t TOP = (<uint64_t>1) << 63


cdef inline uint64_t dense_hash(uint64_t place) noexcept nogil:
    return place * <uint64_t>0x9E3779B97F4A7C15 >> 32


cdef class WordCache:
    """Scores of words that were met lately, for one thread and one model; few texts are scored without."""

    def __dealloc__(self):
        free(self.keys)
        free(self.known)
        free(self.rows)

    cdef int fit(self, CompactScorer scorer, int64_t num_texts) except -1:
        if self.rows != NULL or num_texts < LEAST_TEXTS:
            return 0
        self.keys = <uint64_t*>calloc(CACHED_WORDS, sizeof(uint64_t))
        self.known = <int64_t*>malloc(CACHED_WORDS * sizeof(int64_t))
        self.rows = <int32_t*>malloc(CACHED_WORDS * scorer.width * sizeof(int32_t))
        if self.keys == NULL or self.known == NULL or self.rows == NULL:
            raise MemoryError
        return 0


cdef class CompactScorer:
    """A model's arrays, ready for look-ups without the GIL; the caller has checked them with ``check_stream``."""

    def __cinit__(
        self,
        Tables tables,
        const uint32_t[::1] buckets,
        const uint16_t[::1] stream,
        const int16_t[::1] levels,
        const int32_t[::1] floors,
    ):
        cdef int64_t size = buckets.shape[0] - 1
        self.tables, self.buckets, self.stream, self.levels, self.floors = tables, buckets, stream, levels, floors
        self.num_languages = <int>floors.shape[0]
        self.width = (self.num_languages + PAD - 1) // PAD * PAD
        self.shift = 64
        while size > 1:
            size >>= 1
            self.shift -= 1
        if self.shift == 64 or buckets.shape[0] - 1 != (<int64_t>1) << (64 - self.shift):
            raise ValueError("the number of buckets is not a power of two above one")
        self.fill_dense()

    def __dealloc__(self):
        free(self.dense_keys)
        free(self.dense)

    cdef int fill_dense(self) except -1:
        # Entries: place in the stream << 34 | row << 10 | first eight << 5 | eights - 1; a row is counted in eights.
        cdef int64_t i = 0, j, start, num = 0, eights = 0, size = self.stream.shape[0]
        cdef int64_t counts[256]
        cdef int64_t* starts = <int64_t*>malloc((size // DENSE_ABOVE + 1) * sizeof(int64_t))
        if starts == NULL:
            raise MemoryError
        memset(counts, 0, sizeof(counts))
        while i < size and size < MOST_PLACES:
            start = i + 1
            i = self.after(start)
            if i - start > DENSE_ABOVE:
                starts[num] = start
                num += 1
                for j in range(start, i):
                    counts[self.stream[j] & 255] += 1
        self.order_languages(counts)
        self.dense_mask = 63
        while self.dense_mask < <uint64_t>(3 * num):
            self.dense_mask = 2 * self.dense_mask + 1
        self.dense_keys = <uint64_t*>calloc(self.dense_mask + 1, sizeof(uint64_t))
        self.dense = <int16_t*>calloc(num * self.width + 1, sizeof(int16_t))
        if self.dense_keys != NULL and self.dense != NULL:
            for i in range(num):
                if eights < MOST_ROWS - 32:
                    eights += self.make_row(starts[i], self.after(starts[i]), eights)
        free(starts)
        if self.dense_keys == NULL or self.dense == NULL:
            raise MemoryError
        return 0

    cdef int64_t after(self, int64_t i) noexcept nogil:
        # Where the feature whose first language is at i ends.
        cdef const uint16_t* s = &self.stream[0]
        while not s[i] & LAST:
            i += 1
        return i + 1

    cdef void order_languages(self, const int64_t* counts) noexcept nogil:
        # The slot of a language is how many come before it.
        cdef int l, other
        for l in range(self.num_languages):
            self.slots[l] = 0
            for other in range(self.num_languages):
                self.slots[l] += counts[other] > counts[l] or (counts[other] == counts[l] and other < l)

    cdef int make_row(self, int64_t start, int64_t stop, int64_t at) noexcept nogil:
        cdef int64_t i
        cdef int slot, low = 255, high = 0
        cdef uint64_t k = dense_hash(start) & self.dense_mask
        for i in range(start, stop):
            slot = self.slots[self.stream[i] & 255]
            low, high = min(low, slot), max(high, slot)
        low, high = low // 8, high // 8
        while self.dense_keys[k]:
            k = (k + 1) & self.dense_mask
        self.dense_keys[k] = <uint64_t>start << 34 | <uint64_t>at << 10 | <uint64_t>low << 5 | <uint64_t>(high - low)
        for i in range(start, stop):
            slot = self.slots[self.stream[i] & 255]
            self.dense[8 * at + slot - 8 * low] = self.levels[self.stream[i] >> 8 & 127]
        return high - low + 1

    cdef int64_t find(self, uint64_t key) noexcept nogil:
        # Where the feature's languages begin in the stream, or -1.
        cdef uint64_t bucket = key >> self.shift
        cdef int64_t i = self.buckets[bucket], stop = self.buckets[bucket + 1]
        cdef uint16_t check = <uint16_t>key
        cdef const uint16_t* s = &self.stream[0]
        while i < stop:
            if s[i] == check:
                return i + 1
            i += 1
            while not s[i] & LAST:
                i += 1
            i += 1
        return -1

    cdef uint64_t row_of(self, uint64_t place) noexcept nogil:
        # The dense row's entry of a feature that has one, 0 for none.
        cdef uint64_t k = dense_hash(place) & self.dense_mask, row
        cdef int64_t line, stop
        while self.dense_keys[k] and self.dense_keys[k] >> 34 != place:
            k = (k + 1) & self.dense_mask
        row = self.dense_keys[k]
        if row:
            stop = 8 * (<int64_t>(row & 31) + 1)
            for line in range(0, stop, 32):  # a cache line
                prefetch(self.dense + 8 * (row >> 10 & 0xFFFFFF) + line)
        return row

    cdef void add_list(self, int64_t i, int32_t* sums) noexcept nogil:
        cdef const uint16_t* s = &self.stream[0]
        cdef const int16_t* levels = &self.levels[0]
        while True:
            sums[self.slots[s[i] & 255]] += levels[s[i] >> 8 & 127]
            if s[i] & LAST:
                return
            i += 1

    cdef int64_t find_all(self, Reader* r, int64_t n, uint64_t word, int64_t* known) noexcept nogil:
        # Replaces r.keys by the places of the features that are there; returns how many.
        cdef int64_t s, place, num = 0
        cdef int length
        cdef uint64_t h
        cdef uint64_t* key = r.keys
        for s in range(n):
            h = first_hash()
            for length in range(1, min(MOST_LETTERS, n - s) + 1):
                h = extend(h, r.edged[s + length - 1])
                key[length - 1] = key_of(h, length)
                prefetch(&self.buckets[key[length - 1] >> self.shift])
            key += MOST_LETTERS
        for s in range(n):
            for length in range(min(MOST_LETTERS, n - s)):
                prefetch(&self.stream[0] + self.buckets[r.keys[MOST_LETTERS * s + length] >> self.shift])
        for s in range(n):
            for length in range(min(MOST_LETTERS, n - s)):
                place = self.find(r.keys[MOST_LETTERS * s + length])
                if place < 0:
                    break
                known[0] += length == 0 and s > 0
                r.keys[num] = place
                num += 1
        if word:
            place = self.find(word)
            if place >= 0:
                r.keys[num] = place
                num += 1
        return num

    cdef int64_t score_word(self, Reader* r, int64_t n, uint64_t word, int32_t* sums) noexcept nogil:
        """Add the word's values to sums[:width] by slot, floors not yet taken off; returns how many letters are known.

        ``word`` is the word's own key, 0 if it is too long to have one.
        """
        cdef int64_t i, known = 0, num = self.find_all(r, n, word, &known), most = self.stream.shape[0] - DENSE_ABOVE
        cdef uint64_t* found = r.keys
        cdef uint64_t row
        # Whatever is in many languages is marked by its top bit, then replaced by its row.
        for i in range(num):
            if <int64_t>found[i] <= most and goes_on(&self.stream[0] + found[i]):
                prefetch(&self.dense_keys[dense_hash(found[i]) & self.dense_mask])
                found[i] |= TOP
        for i in range(num):
            if found[i] & TOP:
                row = self.row_of(found[i] & ~TOP)
                found[i] = row | TOP if row else found[i] & ~TOP
        for i in range(num):
            row = found[i] & ~TOP
            if found[i] & TOP:
                add_row(self.dense + 8 * (row >> 10 & 0xFFFFFF), <int>(row & 31) + 1, sums + 8 * (row >> 5 & 31))
            else:
                self.add_list(row, sums)
        return known

    cdef int64_t score_text(self, Reader* r, int32_t* sums, WordCache cache) noexcept nogil:
        # All words of the text that was read; frequent ones come from the cache.
        cdef int64_t known = 0, slot, length = next_word(&self.tables.points, r)
        cdef uint64_t word
        cdef int32_t* row
        cdef int l
        while length:
            word = word_key(r.edged, length) if length <= LONGEST_WORD + 2 else 0
            if word and cache.rows != NULL:
                slot = word & (CACHED_WORDS - 1)
                row = cache.rows + slot * self.width
                if cache.keys[slot] != word:
                    memset(row, 0, self.width * sizeof(int32_t))
                    cache.keys[slot] = word
                    cache.known[slot] = self.score_word(r, length, word, row)
                known += cache.known[slot]
                for l in range(self.width):
                    sums[l] += row[l]
            else:
                known += self.score_word(r, length, word, sums)
            length = next_word(&self.tables.points, r)
        return known

    def score(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        int64_t most_points,
        WordCache cache=None,
    ):
        """Scores int32 (rows, languages) in 1/64 bit, known letters and whether the row is noise."""
        cdef int64_t n = starts.shape[0], r, known
        cdef int l
        scores, letters, noise = np.empty((n, self.num_languages), np.int32), np.zeros(n, np.int32), np.zeros(n, np.uint8)
        cdef int32_t[:, ::1] score_view = scores
        cdef int32_t[::1] letter_view = letters
        cdef uint8_t[::1] noise_view = noise
        cdef const uint8_t* data = &buffer[0] if buffer.shape[0] else NULL
        cdef int32_t* sums = <int32_t*>malloc(self.width * sizeof(int32_t))
        cdef Reader reader
        cache = WordCache() if cache is None else cache
        cache.fit(self, n)
        try:
            if not start_reader(&reader, most_points) or sums == NULL:
                raise MemoryError
            with nogil:
                for r in range(n):
                    read_text(&reader, data + starts[r], stops[r] - starts[r], most_points)
                    noise_view[r] = is_noise(&self.tables.points, reader.raw, reader.num)
                    memset(sums, 0, self.width * sizeof(int32_t))
                    known = self.score_text(&reader, sums, cache)
                    letter_view[r] = <int32_t>known
                    for l in range(self.num_languages):
                        score_view[r, l] = sums[self.slots[l]] - <int32_t>known * self.floors[l]
        finally:
            free_reader(&reader)
            free(sums)
        return scores, letters, noise

    def words_of(self, bytes text, int64_t most_points):
        """Each word, edges shown as ``_``, with its known features: (first letter, letters, [(language, value)]).

        0 letters is the word itself. For explanations; not fast.
        """
        cdef int64_t s, place, n
        cdef int length
        cdef uint64_t h
        cdef Reader reader
        found = []
        try:
            if not start_reader(&reader, most_points):
                raise MemoryError
            read_text(&reader, text, len(text), most_points)
            n = next_word(&self.tables.points, &reader)
            while n:
                features = []
                for s in range(n):
                    h = first_hash()
                    for length in range(1, min(MOST_LETTERS, n - s) + 1):
                        h = extend(h, reader.edged[s + length - 1])
                        place = self.find(key_of(h, length))
                        if place < 0:
                            break
                        features.append((s, length, self.list_of(place)))
                place = self.find(word_key(reader.edged, n)) if n <= LONGEST_WORD + 2 else -1
                if place >= 0:
                    features.append((0, 0, self.list_of(place)))
                shown = "".join([chr(reader.edged[s]) for s in range(1, n - 1)])
                found.append((f"_{shown}_", features))
                n = next_word(&self.tables.points, &reader)
        finally:
            free_reader(&reader)
        return found

    cdef list list_of(self, int64_t i):
        found = []
        while True:
            found.append((self.stream[i] & 255, self.levels[self.stream[i] >> 8 & 127]))
            if self.stream[i] & LAST:
                return found
            i += 1
