"""Backoff mode's scores: sums of 16-bit values over the known features of a text, as integers.

Integers add up to the same bits in any order, so neither shards, threads nor SIMD width can change a score. A language
that never had a feature pays its group's floor; a feature no language had says nothing. Features known to many languages
have a dense row (a SIMD addition), the others a short list.

No feature crosses a word, so a text's scores are the sum of its words' vectors; vectors of words that occur more than
once in a call are kept (up to ``MEMO_BYTES``), which is exact by construction.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from samebits.kernels.langid.features cimport KEYS_PER_BYTE, NUM_GROUPS, group_of, keys_of, mix
from samebits.kernels.langid.text.words cimport prefetch

cdef enum:
    MEMO_BYTES = 1 << 25
    PAD = 16


cdef class Scorer:
    """A model's tables, ready for look-ups without the GIL.

    Args: sorted ``keys``; per key the end of its entries; per entry a language and a value; per group and language what a
    language without the feature pays.
    """

    def __cinit__(
        self,
        const uint64_t[::1] keys,
        const int64_t[::1] stops,
        const uint16_t[::1] languages,
        const int16_t[::1] values,
        const int32_t[:, ::1] floors,
    ):
        self.keys, self.stops, self.languages, self.values, self.floors = keys, stops, languages, values, floors
        self.num_languages = <int>floors.shape[1]
        self.width = (self.num_languages + PAD - 1) // PAD * PAD
        self.mask = 1023
        while self.mask < 2 * <uint64_t>keys.shape[0]:
            self.mask = 2 * self.mask + 1
        self.slots = <Slot*>calloc(self.mask + 1, sizeof(Slot))
        self.dense_of = <int64_t*>malloc((keys.shape[0] + 1) * sizeof(int64_t))
        if self.slots == NULL or self.dense_of == NULL:
            raise MemoryError
        self.fill_slots()
        self.fill_dense()

    def __dealloc__(self):
        free(self.slots)
        free(self.dense_of)
        free(self.dense)

    def __reduce__(self):
        return Scorer, (
            np.asarray(self.keys),
            np.asarray(self.stops),
            np.asarray(self.languages),
            np.asarray(self.values),
            np.asarray(self.floors),
        )

    cdef void fill_slots(self) noexcept nogil:
        cdef int64_t f
        cdef uint64_t k
        for f in range(self.keys.shape[0]):
            k = mix(self.keys[f]) & self.mask
            while self.slots[k].feature:
                k = (k + 1) & self.mask
            self.slots[k] = Slot(key=self.keys[f], feature=f + 1)

    cdef int fill_dense(self) except -1:
        cdef int64_t f, e, start = 0, row = 0, least = max(8, self.num_languages // 6)
        for f in range(self.keys.shape[0]):
            self.dense_of[f] = -1
            if self.stops[f] - start >= least:
                self.dense_of[f] = row
                row += 1
            start = self.stops[f]
        self.dense = <int16_t*>calloc(row * self.width + 1, sizeof(int16_t))
        if self.dense == NULL:
            raise MemoryError
        start = 0
        for f in range(self.keys.shape[0]):
            if self.dense_of[f] >= 0:
                for e in range(start, self.stops[f]):
                    self.dense[self.dense_of[f] * self.width + self.languages[e]] = self.values[e]
            start = self.stops[f]
        return 0

    cdef int64_t find(self, uint64_t key) noexcept nogil:
        cdef uint64_t k = mix(key) & self.mask
        while self.slots[k].feature:
            if self.slots[k].key == key:
                break
            k = (k + 1) & self.mask
        return self.slots[k].feature - 1

    cdef int64_t look_up(self, const uint8_t* p, int64_t n, uint64_t* found) noexcept nogil:
        # Put feature << 3 | group of the word's known features into found (room for its keys); returns how many.
        # Each round asks for the memory that the next one needs: one look-up after another would wait for it every time.
        cdef int64_t i, f, num = 0, num_keys = keys_of(p, n, found)
        for i in range(num_keys):
            prefetch(&self.slots[mix(found[i]) & self.mask])
        for i in range(num_keys):
            f = self.find(found[i])
            if f >= 0:
                prefetch(&self.dense_of[f])
                prefetch(&self.stops[f])
                found[num] = <uint64_t>f << GROUP_BITS | <uint64_t>group_of(found[i])
                num += 1
        for i in range(num):
            f = <int64_t>(found[i] >> GROUP_BITS)
            if self.dense_of[f] >= 0:
                prefetch(self.dense + self.dense_of[f] * self.width)
            else:
                f = self.stops[f - 1] if f else 0
                prefetch(&self.languages[f])
                prefetch(&self.values[f])
        return num

    cdef int32_t add_found(self, const uint64_t* found, int64_t num, int32_t* acc) noexcept nogil:
        # Add the values of such features to acc[:width]; returns the number of n-grams among them.
        cdef int64_t i, f, e
        cdef int32_t known[NUM_GROUPS]
        cdef int g, l
        cdef const int16_t* row
        memset(known, 0, sizeof(known))
        for i in range(num):
            f = <int64_t>(found[i] >> GROUP_BITS)
            known[found[i] & ((1 << GROUP_BITS) - 1)] += 1
            if self.dense_of[f] >= 0:
                row = self.dense + self.dense_of[f] * self.width
                for l in range(self.width):
                    acc[l] += row[l]
            else:
                for e in range(self.stops[f - 1] if f else 0, self.stops[f]):
                    acc[self.languages[e]] += self.values[e]
        for g in range(NUM_GROUPS):
            if known[g]:
                for l in range(self.num_languages):
                    acc[l] -= known[g] * self.floors[g, l]
        return known[0] + known[1] + known[2] + known[3]

    cdef int32_t add_word(self, const uint8_t* p, int64_t n, uint64_t* keys, int32_t* acc) noexcept nogil:
        # Add the word's vector to acc[:width]; returns its number of known n-grams.
        return self.add_found(keys, self.look_up(p, n, keys), acc)

    def score(
        self,
        const uint32_t[::1] tokens,
        const int64_t[::1] token_stops,
        const uint8_t[::1] words,
        const int64_t[::1] word_stops,
        int64_t first,
        int64_t last,
    ):
        """Scores of rows [first, last): (int32 (rows, languages), int32 known n-grams per row)."""
        cdef int64_t n = last - first, r, t, start, longest = 0, w, num_memo = 0
        scores, known = np.empty((n, self.num_languages), np.int32), np.zeros(n, np.int32)
        cdef int32_t[:, ::1] score_view = scores
        cdef int32_t[::1] known_view = known
        cdef int64_t most_memo = MEMO_BYTES // (4 * (self.width + 1))
        for w in range(word_stops.shape[0]):
            longest = max(longest, word_stops[w] - (word_stops[w - 1] if w else 0))
        cdef uint64_t* keys = <uint64_t*>malloc((KEYS_PER_BYTE * longest + 8) * sizeof(uint64_t))
        cdef int32_t* acc = <int32_t*>malloc(2 * self.width * sizeof(int32_t))
        cdef int32_t* slot_of = <int32_t*>calloc(word_stops.shape[0] + 1, sizeof(int32_t))  # memo slot + 1
        cdef int32_t* memo = <int32_t*>malloc(min(most_memo, word_stops.shape[0] + 1) * (self.width + 1) * 4)
        cdef int32_t* vector
        cdef int l
        try:
            if keys == NULL or acc == NULL or slot_of == NULL or memo == NULL:
                raise MemoryError
            with nogil:
                for r in range(n):
                    memset(acc, 0, self.width * sizeof(int32_t))
                    start = token_stops[first + r - 1] if first + r else 0
                    for t in range(start, token_stops[first + r]):
                        w = tokens[t]
                        start = word_stops[w - 1] if w else 0
                        if slot_of[w] == 0 and num_memo < most_memo:
                            vector = memo + num_memo * (self.width + 1)
                            memset(vector, 0, (self.width + 1) * sizeof(int32_t))
                            vector[self.width] = self.add_word(&words[start], word_stops[w] - start, keys, vector)
                            num_memo += 1
                            slot_of[w] = <int32_t>num_memo
                        if slot_of[w]:
                            vector = memo + (slot_of[w] - 1) * (self.width + 1)
                            for l in range(self.width):
                                acc[l] += vector[l]
                            known_view[r] += vector[self.width]
                        else:
                            known_view[r] += self.add_word(&words[start], word_stops[w] - start, keys, acc)
                    memcpy(&score_view[r, 0], acc, self.num_languages * sizeof(int32_t))
        finally:
            free(keys)
            free(acc)
            free(slot_of)
            free(memo)
        return scores, known

    def scatter(
        self,
        const uint32_t[::1] tokens,
        const int64_t[::1] token_stops,
        const uint8_t[::1] words,
        const int64_t[::1] word_stops,
        int64_t first,
        const int32_t[:, ::1] gradient,
        int64_t[::1] sums,
    ):
        """Add each row's gradient (rows, languages) to ``sums`` (one per entry), once for each feature occurrence.

        Gradients are added up per word first, so that a word's features are looked up once and not at every occurrence.
        """
        cdef int64_t n = gradient.shape[0], r, t, w, longest = 0, num_held = 0
        cdef int l, num = self.num_languages
        cdef int64_t most_held = max(1, MEMO_BYTES // (8 * num))
        for w in range(word_stops.shape[0]):
            longest = max(longest, word_stops[w] - (word_stops[w - 1] if w else 0))
        most_held = min(most_held, word_stops.shape[0] + 1)
        cdef uint64_t* keys = <uint64_t*>malloc((KEYS_PER_BYTE * longest + 8) * sizeof(uint64_t))
        cdef int32_t* slot_of = <int32_t*>calloc(word_stops.shape[0] + 1, sizeof(int32_t))  # place in held + 1
        cdef int64_t* held = <int64_t*>malloc(most_held * sizeof(int64_t))
        cdef int64_t* totals = <int64_t*>calloc(most_held * num, sizeof(int64_t))
        cdef int64_t* row
        try:
            if keys == NULL or slot_of == NULL or held == NULL or totals == NULL:
                raise MemoryError
            with nogil:
                for r in range(n):
                    for t in range(token_stops[first + r - 1] if first + r else 0, token_stops[first + r]):
                        w = tokens[t]
                        if slot_of[w] == 0:
                            if num_held == most_held:
                                self.flush(words, word_stops, held, num_held, totals, slot_of, keys, sums)
                                num_held = 0
                            held[num_held] = w
                            num_held += 1
                            slot_of[w] = <int32_t>num_held
                        row = totals + (slot_of[w] - 1) * num
                        for l in range(num):
                            row[l] += gradient[r, l]
                self.flush(words, word_stops, held, num_held, totals, slot_of, keys, sums)
        finally:
            free(keys)
            free(slot_of)
            free(held)
            free(totals)

    cdef void flush(
        self,
        const uint8_t[::1] words,
        const int64_t[::1] word_stops,
        const int64_t* held,
        int64_t num_held,
        int64_t* totals,
        int32_t* slot_of,
        uint64_t* keys,
        int64_t[::1] sums,
    ) noexcept nogil:
        # Hand the held words' gradients on to their features' entries, and forget the words.
        cdef int64_t i, k, f, e, w, start, num
        cdef int64_t* row
        for i in range(num_held):
            w = held[i]
            row = totals + i * self.num_languages
            start = word_stops[w - 1] if w else 0
            num = self.look_up(&words[start], word_stops[w] - start, keys)
            for k in range(num):
                f = <int64_t>(keys[k] >> GROUP_BITS)
                for e in range(self.stops[f - 1] if f else 0, self.stops[f]):
                    sums[e] += row[self.languages[e]]
            slot_of[w] = 0
        memset(totals, 0, num_held * self.num_languages * sizeof(int64_t))


def softmax_gradient(const int32_t[:, ::1] scores, const int32_t[::1] labels, const uint32_t[::1] powers, int shift):
    """65,536 times (is it the label) - p for each row and language; p is proportional to 2**(score / 2**shift).

    ``powers[i]`` is 2**30 times 2**(-i / 2**shift): a table of integers, so that no libm is involved. Rows with label -1
    give zeros.
    """
    cdef int64_t n = scores.shape[0], r
    cdef int l, num_languages = <int>scores.shape[1]
    cdef int32_t best
    cdef uint32_t behind, low = (1 << shift) - 1
    cdef uint64_t total
    gradient = np.zeros((n, num_languages), np.int32)
    cdef int32_t[:, ::1] out = gradient
    with nogil:
        for r in range(n):
            if labels[r] < 0:
                continue
            best = scores[r, 0]
            for l in range(1, num_languages):
                best = max(best, scores[r, l])
            total = 0
            for l in range(num_languages):
                behind = <uint32_t>(best - scores[r, l])
                out[r, l] = <int32_t>(powers[behind & low] >> min(behind >> shift, 31))
                total += out[r, l]
            for l in range(num_languages):
                out[r, l] = -<int32_t>((<uint64_t>out[r, l] << 16) // total)
            out[r, labels[r]] += 65536
    return gradient
