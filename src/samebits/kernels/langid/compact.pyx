"""Scores of the compact model: a text's n-grams are looked up in one flat, memory-mapped stream of 16-bit numbers.

The stream is cut into buckets by the key's high bits. A feature is its key's low 16 bits, then one number per language:
``last << 15 | level << 8 | language``. Levels are 128 values in 1/64 bit. An n-gram's extensions are only there if the
n-gram is, so a miss ends the search from that letter. All sums are of integers: no order, thread or machine changes them.

Features of many languages are also kept as dense rows, made when the model is loaded: one addition per 8 languages. Sums
are kept in the order of how often a language is in such rows, so that a row is one short stretch: the languages of a script
lie together. A table, made then as well, says where a feature is, or what it holds if that is one or two languages. Memory is
what takes time, so whatever a word needs is announced before it is read.

Longer texts are read in part, from all over them, until ``enough`` is known; who passes none gets everything read.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.enough cimport Enough
from samebits.kernels.langid.text.no_language cimport is_noise
from samebits.kernels.langid.ngrams cimport LONGEST_WORD, MOST_LETTERS, extend, first_hash, key_of, word_key
from samebits.kernels.langid.text.reading cimport Reader, free_reader, mark_words, next_word, read_text, spread, start_reader
from samebits.kernels.langid.text.unicode cimport Points, Tables

cdef extern from "compact.h" nogil:
    enum: DENSE_ABOVE
    void prefetch(const void* p)
    uint64_t TOP, INLINED
    void* spread_zeros(size_t size)
    void free_zeros(void* p, size_t size)
    int64_t after_list(const uint16_t* stream, int64_t i, int64_t size)
    void add_values(
        const uint64_t* found, int64_t num, const int16_t* dense, const uint16_t* stream, const uint8_t* slots,
        const int16_t* levels, int32_t* sums)
    void add_sums(const int32_t* row, int width, int32_t* sums)
    uint64_t identity_of(uint64_t key, int shift)
    uint64_t look_up(const uint64_t* table, int down, uint64_t identity)
    int64_t find_place(const uint32_t* buckets, const uint16_t* stream, int shift, uint64_t key)

cdef enum:
    PAD = 8
    LEAST_POINTS = 48  # of a text that may be read in part
    ASK_EVERY = 3  # words
    CACHED_WORDS = 4096
    LEAST_TEXTS = 256
    MOST_ROWS = 1 << 24
    FARTHEST = 4096  # places that a feature may be away from its own in the table

cdef uint16_t LAST = 1 << 15
cdef uint64_t DENSE = (<uint64_t>1) << 31  # a code of the table: this and a row, or a place in the stream
cdef int64_t MOST_PLACES = (<int64_t>1) << 30


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
        self.make_rows()
        self.make_table()

    @property
    def places(self):
        """Where in sums each language is, and each further column."""
        return np.array([self.slots[l] for l in range(self.num_languages)], np.uint8)

    def __dealloc__(self):
        free_zeros(self.table, self.table_bytes)
        free(self.rows)
        free(self.dense)

    cdef int make_rows(self) except -1:
        # Dense rows of the features that many languages have, in the order of the stream.
        cdef int64_t i = 0, j, start, num = 0, eights = 0, size = self.stream.shape[0]
        cdef int64_t counts[256]
        cdef int64_t* starts = <int64_t*>malloc((size // DENSE_ABOVE + 1) * sizeof(int64_t))
        if starts == NULL:
            raise MemoryError
        memset(counts, 0, sizeof(counts))
        while i < size:
            start = i + 1
            i = self.after(start)
            self.num_features += 1
            if i - start > DENSE_ABOVE and num < MOST_ROWS:
                starts[num] = start
                num += 1
                for j in range(start, i):
                    counts[self.stream[j] & 255] += 1
        self.order_languages(counts)
        self.rows = <uint64_t*>malloc((num + 1) * sizeof(uint64_t))
        self.dense = <int16_t*>calloc(num * self.width + 1, sizeof(int16_t))
        if self.rows != NULL and self.dense != NULL:
            for i in range(num):
                eights += self.make_row(i, starts[i], self.after(starts[i]), eights)
        free(starts)
        if self.rows == NULL or self.dense == NULL:
            raise MemoryError
        return 0

    cdef int make_table(self) except -1:
        # Where each feature is: found by one look, where buckets and stream take two and a search.
        cdef int64_t b, i, start, row = 0, size = self.stream.shape[0]
        cdef uint64_t code
        cdef int bits = 64 - self.shift  # as many places as buckets, and for each two features three
        while (<int64_t>2) << bits < 3 * self.num_features and bits < 80 - self.shift:
            bits += 1
        self.down = 80 - self.shift - bits
        self.table_bytes = (((<int64_t>1) << bits) + FARTHEST) * sizeof(uint64_t)
        self.table = <uint64_t*>spread_zeros(self.table_bytes)
        if self.table == NULL:
            raise MemoryError
        if size >= MOST_PLACES:
            raise ValueError("the stream is longer than places can say")
        for b in range(self.buckets.shape[0] - 1):
            i = self.buckets[b]
            while i < self.buckets[b + 1]:
                start = i + 1
                i = self.after(start)
                if i - start > DENSE_ABOVE and row < MOST_ROWS:
                    code = DENSE | row
                    row += 1
                elif i - start > 2:
                    code = start
                else:  # level 0 adds nothing
                    code = INLINED | self.inlined(start) | (self.inlined(i - 1) << 15 if i - start == 2 else 0)
                if not self.put(<uint64_t>b << 16 | self.stream[start - 1], code):
                    raise ValueError("features are not spread over the buckets")
        return 0

    cdef uint64_t inlined(self, int64_t i) noexcept nogil:
        return <uint64_t>(self.stream[i] & 0x7F00) | self.slots[self.stream[i] & 255]

    cdef bint put(self, uint64_t identity, uint64_t code) noexcept nogil:
        # The first of equal ones stays.
        cdef uint64_t k = identity >> self.down, last = k + FARTHEST
        while self.table[k]:
            if self.table[k] >> 32 == <uint32_t>identity:
                return True
            k += 1
            if k == last:
                return False
        self.table[k] = identity << 32 | code
        return True

    cdef int64_t after(self, int64_t i) noexcept nogil:
        # Where the feature whose first language is at i ends.
        return after_list(&self.stream[0], i, self.stream.shape[0])

    cdef void order_languages(self, const int64_t* counts) noexcept nogil:
        # The slot of a language is how many come before it.
        cdef int l, other
        for l in range(self.num_languages):
            self.slots[l] = 0
            for other in range(self.num_languages):
                self.slots[l] += counts[other] > counts[l] or (counts[other] == counts[l] and other < l)

    cdef int make_row(self, int64_t row, int64_t start, int64_t stop, int64_t at) noexcept nogil:
        # Returns its length, counted in eights; rows[row] is its place << 10 | first eight << 5 | eights - 1.
        cdef int64_t i
        cdef int slot, low = 255, high = 0
        for i in range(start, stop):
            slot = self.slots[self.stream[i] & 255]
            low, high = min(low, slot), max(high, slot)
        low, high = low // 8, high // 8
        self.rows[row] = <uint64_t>at << 10 | <uint64_t>low << 5 | <uint64_t>(high - low)
        for i in range(start, stop):
            slot = self.slots[self.stream[i] & 255]
            self.dense[8 * at + slot - 8 * low] = self.levels[self.stream[i] >> 8 & 127]
        return high - low + 1

    cdef int64_t find(self, uint64_t key) noexcept nogil:
        # Where the feature's languages begin in the stream, or -1.
        return find_place(&self.buckets[0], &self.stream[0], self.shift, key)

    cdef int64_t find_all(self, Reader* r, int64_t n, uint64_t word, int64_t* known) noexcept nogil:
        # Replaces r.keys by the codes of the features that are there, asks for what they need; returns how many.
        cdef int64_t s, num = 0
        cdef int length
        cdef uint64_t h, code
        cdef uint64_t* key = r.keys
        for s in range(n):
            h = first_hash()
            for length in range(1, min(MOST_LETTERS, n - s) + 1):
                h = extend(h, r.edged[s + length - 1])
                key[length - 1] = identity_of(key_of(h, length), self.shift)
                prefetch(self.table + (key[length - 1] >> self.down))
            key += MOST_LETTERS
        for s in range(n):
            for length in range(min(MOST_LETTERS, n - s)):
                code = look_up(self.table, self.down, r.keys[MOST_LETTERS * s + length])
                if code == 0:
                    break
                known[0] += length == 0 and s > 0
                r.keys[num] = self.announce(code)
                num += 1
        if word:
            code = look_up(self.table, self.down, identity_of(word, self.shift))
            if code:
                r.keys[num] = self.announce(code)
                num += 1
        return num

    cdef inline uint64_t announce(self, uint64_t code) noexcept nogil:
        cdef uint64_t row, line
        if not code & DENSE:
            if not code & INLINED:
                prefetch(&self.stream[0] + code)
            return code
        row = self.rows[code & (DENSE - 1)]
        for line in range(0, 8 * ((row & 31) + 1), 32):  # a cache line
            prefetch(self.dense + 8 * (row >> 10) + line)
        return row | TOP

    cdef int64_t score_word(self, Reader* r, int64_t n, uint64_t word, int32_t* sums) noexcept nogil:
        """Add the word's values to sums[:width] by slot, floors not yet taken off; returns how many letters are known.

        ``word`` is the word's own key, 0 if it is too long to have one.
        """
        cdef int64_t known = 0, num = self.find_all(r, n, word, &known)
        add_values(r.keys, num, self.dense, &self.stream[0], self.slots, &self.levels[0], sums)
        return known

    cdef int64_t add_word(self, Reader* r, int64_t length, int32_t* sums, WordCache cache) noexcept nogil:
        # The word that was read; frequent ones come from the cache. Returns how many letters are known.
        cdef uint64_t word = word_key(r.edged, length) if length <= LONGEST_WORD + 2 else 0, slot
        cdef int32_t* row
        if not word or cache.rows == NULL:
            return self.score_word(r, length, word, sums)
        slot = word & (CACHED_WORDS - 1)
        row = cache.rows + slot * self.width
        if cache.keys[slot] != word:
            memset(row, 0, self.width * sizeof(int32_t))
            cache.keys[slot] = word
            cache.known[slot] = self.score_word(r, length, word, row)
        add_sums(row, self.width, sums)
        return cache.known[slot]

    cdef int64_t score_text(self, Reader* r, int32_t* sums, WordCache cache, Enough enough) noexcept nogil:
        # All words of the text, or of a longer one as many as are enough, from all over it.
        cdef int64_t known = 0, k, num, length
        if enough is None or r.num < LEAST_POINTS:
            length = next_word(&self.tables.points, r)
            while length:
                known += self.add_word(r, length, sums, cache)
                length = next_word(&self.tables.points, r)
            return known
        num = mark_words(&self.tables.points, r)
        for k in range(num):
            r.at = r.starts[spread(k, num)]
            known += self.add_word(r, next_word(&self.tables.points, r), sums, cache)
            if self.may_stop(r, k, sums, known, enough):
                break
        return known

    cdef inline bint may_stop(
        self, Reader* r, int64_t k, const int32_t* sums, int64_t known, Enough enough
    ) noexcept nogil:
        # Whether the k-th word, just added, may be the last one read.
        if enough is None or r.num < LEAST_POINTS or k % ASK_EVERY != ASK_EVERY - 1:
            return False
        return enough.reached(sums, known)

    def score(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        int64_t most_points,
        WordCache cache=None,
        Enough enough=None,
    ):
        """Scores int32 (rows, languages) in 1/64 bit, known letters and whether the row is noise; see the stub."""
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
                    known = self.score_text(&reader, sums, cache, enough)
                    letter_view[r] = <int32_t>known
                    for l in range(self.num_languages):
                        score_view[r, l] = sums[self.slots[l]] - <int32_t>known * self.floors[l]
        finally:
            free_reader(&reader)
            free(sums)
        return scores, letters, noise
