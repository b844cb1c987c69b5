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

cimport cython
import numpy as np

from samebits.kernels.langid.features cimport KEYS_PER_BYTE, NUM_GROUPS, group_of, keys_of, mix
from samebits.kernels.langid.text.words cimport prefetch

cdef extern from "sums.h" nogil:
    void add_narrow(const int16_t* rows, const int64_t* chosen, int64_t num, int width, int32_t* sums)
    void add_vector(const int32_t* row, int width, int32_t* sums)
    void pay_floors(const int32_t* floors, const int32_t* known, int groups, int num, int32_t* sums)
    void* spread_zeros(size_t size)
    void free_zeros(void* p, size_t size)

cdef enum:
    MEMO_BYTES = 1 << 25
    PAD = 16
    AHEAD = 16  # keys
    AT_ONCE = 32  # dense rows
    FEW = 1 << 14  # languages

cdef uint32_t DENSE = 1 << 31  # marks the code of a dense row
cdef uint32_t ALONE = 1 << 30  # and that of one language: it is value << 14 | language


@cython.final
cdef class Scorer:
    """A model's tables, ready for look-ups without the GIL.

    Args: sorted ``keys``; per key the end of its entries; per entry a language and a value; per group and language what a
    language without the feature pays. Without ``finds`` there is no table to find features by their keys: it only adds up values.
    """

    def __cinit__(
        self,
        const uint64_t[::1] keys,
        const int64_t[::1] stops,
        const uint16_t[::1] languages,
        const int16_t[::1] values,
        const int32_t[:, ::1] floors,
        bint finds=True,
    ):
        self.keys, self.stops, self.languages, self.values, self.floors = keys, stops, languages, values, floors
        self.num_languages = <int>floors.shape[1]
        self.width = (self.num_languages + PAD - 1) // PAD * PAD
        self.finds, self.mask = finds, 1023
        while finds and self.mask < 2 * <uint64_t>keys.shape[0]:
            self.mask = 2 * self.mask + 1
        cdef int64_t least = max(8, self.num_languages // 6)
        self.make_room(least)
        with nogil:
            self.fill_values(least)
            if finds:
                self.fill_slots()

    def __dealloc__(self):
        free_zeros(self.slots, (self.mask + 1) * sizeof(Slot))
        free(self.dense)
        free(self.lists)
        free(self.codes)

    def __reduce__(self):
        return Scorer, (
            np.asarray(self.keys),
            np.asarray(self.stops),
            np.asarray(self.languages),
            np.asarray(self.values),
            np.asarray(self.floors),
            self.finds,
        )

    cdef int make_room(self, int64_t least) except -1:
        # Features of so many languages get a dense row.
        numbers = np.diff(np.asarray(self.stops), prepend=0)
        listed = numbers[(numbers < least) & ((numbers > 1) | (self.num_languages > FEW))]
        if len(numbers) >= 1 << 29 or len(listed) + listed.sum() >= 1 << 30:
            raise OverflowError("a model of more than 536 million n-grams")
        self.slots = <Slot*>spread_zeros((self.mask + 1) * sizeof(Slot))
        self.dense = <int16_t*>calloc(np.count_nonzero(numbers >= least) * self.width + 1, sizeof(int16_t))
        self.lists = <uint32_t*>malloc((len(listed) + listed.sum() + 2) * sizeof(uint32_t))
        self.codes = <uint32_t*>malloc((len(numbers) + 1) * sizeof(uint32_t))
        if self.slots == NULL or self.dense == NULL or self.lists == NULL or self.codes == NULL:
            raise MemoryError
        return 0

    cdef void fill_values(self, int64_t least) noexcept nogil:
        cdef int64_t f, start = 0, num_dense = 0, num_listed = 1
        for f in range(self.keys.shape[0]):
            self.codes[f] = self.put_values(f, self.stops[f] - start >= least, &num_dense, &num_listed)
            start = self.stops[f]

    cdef void fill_slots(self) noexcept nogil:
        cdef int64_t f
        cdef uint64_t k, mixed
        for f in range(self.keys.shape[0]):
            if f + AHEAD < self.keys.shape[0]:  # asked for before it is needed
                prefetch(&self.slots[mix(self.keys[f + AHEAD]) & self.mask])
            mixed = mix(self.keys[f])
            k = mixed & self.mask
            while self.slots[k].found:
                k = (k + 1) & self.mask
            self.slots[k] = Slot(mixed=mixed, found=self.found_of(f))

    cdef uint64_t found_of(self, int64_t f) noexcept nogil:
        return <uint64_t>f << FEATURE_SHIFT | <uint64_t>group_of(self.keys[f]) << GROUP_SHIFT | self.codes[f]

    cdef uint32_t put_values(self, int64_t f, bint dense, int64_t* num_dense, int64_t* num_listed) noexcept nogil:
        # Put a feature's values where they are read; returns its code.
        cdef int64_t e, start = self.stops[f - 1] if f else 0, place = num_listed[0]
        if self.stops[f] - start == 1 and self.num_languages <= FEW:
            return ALONE | <uint32_t><uint16_t>self.values[start] << 14 | self.languages[start]
        if dense:
            for e in range(start, self.stops[f]):
                self.dense[num_dense[0] * self.width + self.languages[e]] = self.values[e]
            num_dense[0] += 1
            return DENSE | <uint32_t>(num_dense[0] - 1)
        self.lists[place] = <uint32_t>(self.stops[f] - start)
        for e in range(start, self.stops[f]):
            self.lists[place + 1 + e - start] = <uint32_t><uint16_t>self.values[e] << 16 | self.languages[e]
        num_listed[0] += 1 + self.stops[f] - start
        return <uint32_t>place

    cdef inline uint64_t find(self, uint64_t mixed) noexcept nogil:
        cdef uint64_t k = mixed & self.mask
        while self.slots[k].found and self.slots[k].mixed != mixed:
            k = (k + 1) & self.mask
        return self.slots[k].found

    cdef int64_t ask(self, const uint8_t* p, int64_t n, uint64_t* mixed) noexcept nogil:
        # Put the word's keys, mixed, into ``mixed`` (room: KEYS_PER_BYTE n + 8) and ask for the memory that finds them; returns how many.
        cdef int64_t i, num = keys_of(p, n, mixed)
        for i in range(num):
            mixed[i] = mix(mixed[i])
            prefetch(&self.slots[mixed[i] & self.mask])
        return num

    cdef int64_t find_all(self, uint64_t* mixed, int64_t num_keys) noexcept nogil:
        # Put what is found of the known ones in the place of keys (see FEATURE_SHIFT); returns how many.
        cdef int64_t i, num = 0
        for i in range(num_keys):
            mixed[num] = self.find(mixed[i])
            num += mixed[num] != 0
        return num

    cdef void ask_values(self, const uint64_t* found, int64_t num) noexcept nogil:
        # Ask for the values of such features: one look-up after another would wait for them every time.
        cdef int64_t i
        cdef uint32_t code
        for i in range(num):
            code = <uint32_t>found[i]
            if code & DENSE:
                prefetch(self.dense + <int64_t>(code ^ DENSE) * self.width)
            elif not code & ALONE:
                prefetch(&self.lists[code])

    cdef int64_t look_up(self, const uint8_t* p, int64_t n, uint64_t* found) noexcept nogil:
        # All three for one word: what is found of it; returns how many.
        cdef int64_t num = self.find_all(found, self.ask(p, n, found))
        self.ask_values(found, num)
        return num

    cdef void add_found(self, const uint64_t* found, int64_t num, int32_t* known, int32_t* acc) noexcept nogil:
        # Add the values of such features to acc[:width], and to ``known`` how many of each group they are.
        cdef int64_t i, num_rows = 0
        cdef int64_t rows[AT_ONCE]
        cdef uint32_t code, k
        cdef const uint32_t* entries
        for i in range(num):
            known[group_in(found[i])] += 1
            code = <uint32_t>found[i]
            if code & DENSE:
                rows[num_rows] = code ^ DENSE
                num_rows += 1
                if num_rows == AT_ONCE:
                    add_narrow(self.dense, rows, num_rows, self.width, acc)
                    num_rows = 0
            elif code & ALONE:
                acc[code & 0x3FFF] += <int16_t>(code >> 14 & 0xFFFF)
            else:
                entries = self.lists + code
                for k in range(1, entries[0] + 1):
                    acc[entries[k] & 0xFFFF] += <int16_t>(entries[k] >> 16)
        add_narrow(self.dense, rows, num_rows, self.width, acc)

    cdef void pay(self, const int32_t* known, int32_t* acc) noexcept nogil:
        # Take off what languages pay for features: each its floors, and those that have a feature got its value.
        pay_floors(&self.floors[0, 0], known, NUM_GROUPS, self.num_languages, acc)

    cdef int32_t add_word(self, const uint8_t* p, int64_t n, uint64_t* keys, int32_t* acc) noexcept nogil:
        # Add the word's vector to acc[:width]; returns its number of known n-grams.
        cdef int32_t known[NUM_GROUPS]
        memset(known, 0, sizeof(known))
        self.add_found(keys, self.look_up(p, n, keys), known, acc)
        self.pay(known, acc)
        return known[0] + known[1] + known[2] + known[3]

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
                            add_vector(vector, self.width, acc)
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
                f = feature_of(keys[k])
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
