"""Scores of the compact model: a text's n-grams are looked up in one flat, memory-mapped stream of 16-bit numbers.

The stream is cut into buckets by the key's high bits. A feature is its key's low 16 bits, then one number per language:
``last << 15 | level << 8 | language``. Levels are 128 values in 1/64 bit. An n-gram's extensions are only there if the
n-gram is, so a miss ends the search from that letter. All sums are of integers: no order, thread or machine changes them.

Features of many languages are also kept as dense rows, made when the model is loaded: one addition per 8 languages.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.no_language cimport is_noise
from samebits.kernels.langid.ngrams cimport (
    END, LONGEST_WORD, MOST_LETTERS, START, extend, first_hash, key_of, word_key,
)
from samebits.kernels.langid.unicode cimport (
    COMPOSES, Points, Tables, compose, decode, decompose, flags_of, record_of,
)

cdef extern from *:
    """
    #define prefetch(p) __builtin_prefetch(p)
    """
    void prefetch(const void* p) nogil

cdef enum:
    DENSE_LANGUAGES = 24  # from here on a dense row is faster than a list
    PAD = 16
    ZWNJ = 0x200C
    ZWJ = 0x200D
    HEH = 0x0647
    AE = 0x06D5

cdef uint16_t LAST = 1 << 15


cdef bint start_reader(Reader* r, int64_t most) noexcept nogil:
    memset(r, 0, sizeof(Reader))
    r.raw = <uint32_t*>malloc((most + 1) * sizeof(uint32_t))
    r.wide = <uint32_t*>malloc((4 * most + 4) * sizeof(uint32_t))
    r.edged = <uint32_t*>malloc((4 * most + 8) * sizeof(uint32_t))
    r.keys = <uint64_t*>malloc(MOST_LETTERS * (4 * most + 8) * sizeof(uint64_t))
    return r.raw != NULL and r.wide != NULL and r.edged != NULL and r.keys != NULL


cdef void free_reader(Reader* r) noexcept nogil:
    free(r.raw)
    free(r.wide)
    free(r.edged)
    free(r.keys)


cdef void read_text(Reader* r, const uint8_t* p, int64_t n, int64_t most) noexcept nogil:
    cdef int64_t i = 0
    r.num = 0
    r.at = 0
    while i < n and r.num < most:
        r.raw[r.num] = decode(p, &i)
        r.num += 1


cdef inline bint is_arabic(uint32_t c) noexcept nogil:
    return 0x600 <= c < 0x700


cdef int64_t next_word(const Points* t, Reader* r) noexcept nogil:
    """Put the next word with its edges into r.edged; returns its length, 0 at the end of the text.

    The same rules as training's ``fold``: letters and marks, in lower case, NFC. Heh with a zero-width non-joiner is
    how Sorani was long written for AE; other joiners end a word in Arabic script and are dropped elsewhere.
    """
    cdef int64_t i = r.at, n = r.num, k = 1, m, j
    cdef int64_t folded
    cdef uint32_t c
    cdef bint plain = True
    while i < n and <int64_t>r.raw[i] + t.fold[record_of(t, r.raw[i])] <= 0:
        i += 1
    r.start = i
    m = 0
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
        plain = plain and not (c >= 0x300 and flags_of(t, c) & COMPOSES)
        r.wide[m] = c
        m += 1
        i += 1
    r.stop = r.at = i
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
        # Keyed by the place in the stream.
        cdef int64_t b, i, j, start, num = 0, row = 0
        cdef uint64_t k
        for b in range(2):
            if b:
                self.dense_mask = 63
                while self.dense_mask < <uint64_t>(3 * num):
                    self.dense_mask = 2 * self.dense_mask + 1
                self.dense_keys = <uint64_t*>calloc(self.dense_mask + 1, sizeof(uint64_t))
                self.dense = <int16_t*>calloc(num * self.width + 1, sizeof(int16_t))
                if self.dense_keys == NULL or self.dense == NULL:
                    raise MemoryError
            i = 0
            while i < self.stream.shape[0]:
                i += 1
                start = i
                while not self.stream[i] & LAST:
                    i += 1
                i += 1
                if i - start < DENSE_LANGUAGES:
                    continue
                if not b:
                    num += 1
                    continue
                k = (<uint64_t>start * <uint64_t>0x9E3779B97F4A7C15 >> 32) & self.dense_mask
                while self.dense_keys[k]:
                    k = (k + 1) & self.dense_mask
                self.dense_keys[k] = <uint64_t>start << 24 | <uint64_t>row
                for j in range(start, i):
                    self.dense[row * self.width + (self.stream[j] & 255)] = self.levels[self.stream[j] >> 8 & 127]
                row += 1
        return 0

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

    cdef void add_feature(self, int64_t place, int32_t* sums) noexcept nogil:
        cdef const uint16_t* s = &self.stream[0]
        cdef const int16_t* levels = &self.levels[0]
        cdef uint64_t k
        cdef int64_t i, n = 0
        cdef const int16_t* row
        cdef int l
        i = place
        while n < DENSE_LANGUAGES and not s[i] & LAST:
            i += 1
            n += 1
        if n >= DENSE_LANGUAGES - 1:
            k = (<uint64_t>place * <uint64_t>0x9E3779B97F4A7C15 >> 32) & self.dense_mask
            while self.dense_keys[k] and self.dense_keys[k] >> 24 != <uint64_t>place:
                k = (k + 1) & self.dense_mask
            if self.dense_keys[k]:
                row = self.dense + (self.dense_keys[k] & 0xFFFFFF) * self.width
                for l in range(self.width):
                    sums[l] += row[l]
                return
        i = place
        while True:
            sums[s[i] & 255] += levels[s[i] >> 8 & 127]
            if s[i] & LAST:
                return
            i += 1

    cdef int64_t score_word(self, Reader* r, int64_t n, int32_t* sums) noexcept nogil:
        """Add the word's values to sums[:width], floors not yet taken off; returns how many letters are known."""
        cdef int64_t s, place, known = 0
        cdef int length
        cdef uint64_t h
        cdef uint64_t* key = r.keys
        # Memory is what takes time: all look-ups of a word are announced before the first is made.
        for s in range(n):
            h = first_hash()
            for length in range(1, min(MOST_LETTERS, n - s) + 1):
                h = extend(h, r.edged[s + length - 1])
                key[length - 1] = key_of(h, length)
                prefetch(&self.buckets[key[length - 1] >> self.shift])
            key += MOST_LETTERS
        for s in range(MOST_LETTERS * n):
            if s % MOST_LETTERS < n - s // MOST_LETTERS:
                prefetch(&self.stream[0] + self.buckets[r.keys[s] >> self.shift])
        key = r.keys
        for s in range(n):
            for length in range(1, min(MOST_LETTERS, n - s) + 1):
                place = self.find(key[length - 1])
                if place < 0:
                    break
                known += length == 1 and s > 0
                self.add_feature(place, sums)
            key += MOST_LETTERS
        if n <= LONGEST_WORD + 2:
            place = self.find(word_key(r.edged, n))
            if place >= 0:
                self.add_feature(place, sums)
        return known

    def score(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, int64_t most_points):
        """Scores int32 (rows, languages) in 1/64 bit, known letters and whether the row is noise."""
        cdef int64_t n = starts.shape[0], r, length, known
        cdef int l
        scores, letters, noise = np.empty((n, self.num_languages), np.int32), np.zeros(n, np.int32), np.zeros(n, np.uint8)
        cdef int32_t[:, ::1] score_view = scores
        cdef int32_t[::1] letter_view = letters
        cdef uint8_t[::1] noise_view = noise
        cdef const uint8_t* data = &buffer[0] if buffer.shape[0] else NULL
        cdef int32_t* sums = <int32_t*>malloc(self.width * sizeof(int32_t))
        cdef Reader reader
        cdef const Points* t = &self.tables.points
        try:
            if not start_reader(&reader, most_points) or sums == NULL:
                raise MemoryError
            with nogil:
                for r in range(n):
                    read_text(&reader, data + starts[r], stops[r] - starts[r], most_points)
                    noise_view[r] = is_noise(t, reader.raw, reader.num)
                    memset(sums, 0, self.width * sizeof(int32_t))
                    known = 0
                    length = next_word(t, &reader)
                    while length:
                        known += self.score_word(&reader, length, sums)
                        length = next_word(t, &reader)
                    letter_view[r] = <int32_t>known
                    for l in range(self.num_languages):
                        score_view[r, l] = sums[l] - <int32_t>known * self.floors[l]
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
