"""Rows whose label is far behind when the row's own counts are taken from it: a row cannot vouch for itself.

Few rows are that far behind, so most of them are only shown not to be. A row's scores with all counts are the sum of its words' vectors.
What its label can lose at most by the row's own counts depends on how often a feature can be in the row: there are classes for that, and
each feature's loss in every class is looked up by the label's count of it. In rows that might still be too far behind features are counted.
Rows are taken label by label, and their features looked up among those of the label; vectors and losses of words that come again are kept.
"""

from libc.stdint cimport INT32_MIN, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cimport cython
import numpy as np

from samebits.kernels.langid.features cimport KEYS_PER_BYTE, NUM_GROUPS, keys_of, mix
from samebits.kernels.langid.suspects.own_counts cimport (
    CLASSES, LETTERS, LOSS_SHIFT, TAGS, OwnCounts, Table, find, free_table, make_table, times_in, value,
)
from samebits.kernels.langid.score cimport Scorer, group_in
from samebits.kernels.langid.suspects.word_memo cimport Memo, Word, free_memo, next_word, start_memo

cdef extern from "../sums.h" nogil:
    void add_losses(const int16_t* table, const uint32_t* places, int64_t num, int32_t* sums)
    void add_vector(const int32_t* row, int width, int32_t* sums)
    int32_t most_of(const int32_t* sums, int num)

cdef extern from *:
    int popcount "__builtin_popcountll"(unsigned long long) nogil

cdef enum:
    PAIRS = 64  # pairs of letters of a word that are compared

cdef struct Row:
    # What is known of the row at hand.
    int32_t* acc
    int32_t known[NUM_GROUPS]
    int32_t losses[CLASSES]  # by its n-grams
    int32_t whole[CLASSES]  # by its words
    int32_t repeats  # an n-gram of two letters and more is at most so many times in it
    int32_t same  # and a word
    int64_t behind  # how far the label is behind the best other language, all counts in


cdef int32_t repeats_of(const uint32_t* slots, int64_t num, const uint16_t* tags) noexcept nogil:
    """How often the word has an n-gram of two letters or more at most: longer ones end with a pair of letters."""
    cdef uint32_t pairs[PAIRS]
    cdef uint64_t seen = 0
    cdef int64_t i, k
    cdef int n = 0
    cdef int32_t same, most = 1
    for i in range(num):
        if tags[slots[i]] // TAGS == 1:
            if n == PAIRS:
                return <int32_t>num
            pairs[n] = slots[i]
            seen |= <uint64_t>1 << (slots[i] & 63)
            n += 1
    if popcount(seen) == n:
        return 1
    for i in range(n):
        same = 1
        for k in range(i):
            same += pairs[k] == pairs[i]
        most = max(most, same)
    return most


cdef int64_t longest_row(
    const int64_t[::1] rows, const uint32_t[::1] tokens, const int64_t[::1] token_stops, const int64_t[::1] word_stops
) noexcept nogil:
    """Room for the keys of any of these rows."""
    cdef int64_t i, r, t, size, most = 0
    for i in range(rows.shape[0]):
        r, size = rows[i], 0
        for t in range(token_stops[r - 1] if r else 0, token_stops[r]):
            size += KEYS_PER_BYTE * (word_stops[tokens[t]] - (word_stops[tokens[t] - 1] if tokens[t] else 0)) + 8
        most = max(most, size)
    return most + 8


@cython.final
cdef class Search:
    """Looks for rows of one call that are far behind."""

    cdef Scorer scorer
    cdef OwnCounts counts
    cdef const uint32_t[::1] tokens
    cdef const int64_t[::1] token_stops
    cdef const uint8_t[::1] words
    cdef const int64_t[::1] word_stops
    cdef int64_t least
    cdef Memo memo
    cdef Row row
    cdef Table table
    cdef uint8_t* uses  # of each word: 1 or more
    cdef uint64_t* keys
    cdef uint64_t* found
    cdef uint32_t* places
    cdef uint32_t* new_slots  # of the row's words that no other row has
    cdef int64_t num_new
    cdef uint32_t* touched
    cdef int64_t num_touched

    def __cinit__(self, OwnCounts counts, tokens, token_stops, words, word_stops, rows, int64_t least):
        cdef int64_t most
        self.scorer, self.counts, self.least = counts.scorer, counts, least
        self.tokens, self.token_stops, self.words, self.word_stops = tokens, token_stops, words, word_stops
        most = longest_row(rows, self.tokens, self.token_stops, self.word_stops)
        self.uses = <uint8_t*>calloc(self.word_stops.shape[0] + 1, 1)
        self.keys = <uint64_t*>malloc(most * sizeof(uint64_t))
        self.found = <uint64_t*>malloc(most * sizeof(uint64_t))
        self.places = <uint32_t*>malloc(most * sizeof(uint32_t))
        self.new_slots = <uint32_t*>malloc(most * sizeof(uint32_t))
        self.touched = <uint32_t*>malloc(most * sizeof(uint32_t))
        self.row.acc = <int32_t*>malloc(self.scorer.width * sizeof(int32_t))
        if not make_table(&self.table, counts) or not start_memo(&self.memo, self.scorer.width, self.word_stops.shape[0], most) or (
            self.uses == NULL or self.keys == NULL or self.found == NULL or self.places == NULL or self.new_slots == NULL
            or self.touched == NULL or self.row.acc == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free_memo(&self.memo)
        free_table(&self.table)
        free(self.uses)
        free(self.keys)
        free(self.found)
        free(self.places)
        free(self.new_slots)
        free(self.touched)
        free(self.row.acc)

    cdef void note_uses(self, const int64_t[::1] rows) noexcept nogil:
        cdef int64_t i, t
        for i in range(rows.shape[0]):
            for t in range(self.token_stops[rows[i] - 1] if rows[i] else 0, self.token_stops[rows[i]]):
                self.uses[self.tokens[t]] += self.uses[self.tokens[t]] < 2

    cdef int64_t read(self, int64_t w) noexcept nogil:
        # Put the word's keys, mixed, into ``keys``; returns how many.
        cdef int64_t start = self.word_stops[w - 1] if w else 0, i
        cdef int64_t num = keys_of(&self.words[start], self.word_stops[w] - start, self.keys)
        for i in range(num):
            self.keys[i] = mix(self.keys[i])
        return num

    cdef int64_t look_up(self, const uint64_t* keys, int64_t num, uint32_t* slots) noexcept nogil:
        # Put the slots of the keys into ``slots``, and what is found there into ``found``; returns how many.
        cdef int64_t i, k, number = 0
        for i in range(num):
            k = find(&self.table, keys[i])
            if k >= 0:
                slots[number], self.found[number] = <uint32_t>k, self.table.slots[k].found
                number += 1
        self.scorer.ask_values(self.found, number)
        return number

    cdef uint32_t lose(self, const uint32_t* slots, int64_t num, int32_t* losses) noexcept nogil:
        # Add what the label can lose by a word's n-grams; returns where the loss by the word itself is in the table. It is the last.
        cdef int64_t i
        if num == 0:
            return 0
        for i in range(num):
            self.places[i] = self.table.tags[slots[i]]
        if self.places[num - 1] >= (NUM_GROUPS - 1) * TAGS:
            add_losses(&self.counts.losses[0], self.places, num - 1, losses)
            return self.places[num - 1]
        add_losses(&self.counts.losses[0], self.places, num, losses)
        return 0

    cdef void add_new_word(self, int64_t w) noexcept nogil:
        # Add a word that no other row has.
        cdef uint32_t* slots = self.new_slots + self.num_new
        cdef int64_t num = self.look_up(self.keys, self.read(w), slots)
        cdef uint32_t whole = self.lose(slots, num, self.row.losses)
        add_losses(&self.counts.losses[0], &whole, 1, self.row.whole)
        self.row.repeats += repeats_of(slots, num, self.table.tags)
        self.scorer.add_found(self.found, num, self.row.known, self.row.acc)
        self.num_new += num

    cdef Word* remember(self, int64_t w, int label) noexcept nogil:
        # A word that comes again, with what this label can lose by it.
        cdef Word* kept
        cdef int64_t num
        cdef bint new = self.memo.place_of[w] == 0
        if new:
            num = self.read(w)
            kept = next_word(&self.memo, w, num)
            memcpy(self.memo.keys + kept.start, self.keys, num * sizeof(uint64_t))
        else:
            kept = self.memo.words + self.memo.place_of[w] - 1
        if kept.label != label:
            num = self.look_up(self.memo.keys + kept.start, kept.num, self.memo.slots + kept.start)
            memset(kept.losses, 0, sizeof(kept.losses))
            kept.whole = self.lose(self.memo.slots + kept.start, num, kept.losses)
            kept.label, kept.num_found = label, <int32_t>num
            if new:
                self.fill(kept, num)
        return kept

    cdef void fill(self, Word* kept, int64_t num) noexcept nogil:
        cdef int32_t* vector = self.memo.vectors + (kept - self.memo.words) * self.scorer.width
        memset(vector, 0, self.scorer.width * sizeof(int32_t))
        kept.repeats = repeats_of(self.memo.slots + kept.start, num, self.table.tags)
        self.scorer.add_found(self.found, num, kept.known, vector)

    cdef void add_kept_word(self, int64_t w, int label, int32_t r) noexcept nogil:
        cdef Word* kept = self.remember(w, label)
        cdef int i
        kept.times = kept.times + 1 if kept.row == r else 1
        kept.row = r
        add_vector(self.memo.vectors + (kept - self.memo.words) * self.scorer.width, self.scorer.width, self.row.acc)
        for i in range(NUM_GROUPS):
            self.row.known[i] += kept.known[i]
        for i in range(CLASSES):
            self.row.losses[i] += kept.losses[i]
        add_losses(&self.counts.losses[0], &kept.whole, 1, self.row.whole)
        self.row.repeats += kept.repeats
        self.row.same = max(self.row.same, kept.times)

    cdef void add_row(self, int64_t r, int label) noexcept nogil:
        cdef int64_t t, start = self.token_stops[r - 1] if r else 0
        cdef int32_t* acc = self.row.acc
        memset(&self.row, 0, sizeof(Row))
        self.row.acc, self.row.same = acc, 1
        self.num_new, self.memo.forgot = 0, False
        memset(acc, 0, self.scorer.width * sizeof(int32_t))
        for t in range(start, self.token_stops[r]):
            if self.uses[self.tokens[t]] == 1:
                self.add_new_word(self.tokens[t])
            else:
                self.add_kept_word(self.tokens[t], label, <int32_t>r)
        if self.memo.forgot:  # how often a word has been there, too
            self.row.same = <int32_t>(self.token_stops[r] - start)
        self.scorer.pay(self.row.known, acc)

    cdef bint may_be_far(self, int label) noexcept nogil:
        # Whether the label could be further behind than ``least``: by all counts, and what it can lose.
        cdef int k = 0, same = 0
        cdef int32_t own = self.row.acc[label]
        self.row.acc[label] = INT32_MIN
        self.row.behind = <int64_t>most_of(self.row.acc, self.scorer.num_languages) - own
        self.row.acc[label] = own
        while k < CLASSES and (self.row.repeats > times_in(k) or self.row.known[0] > times_in(k) << LETTERS):
            k += 1
        while same < CLASSES and self.row.same > times_in(same):
            same += 1
        if k == CLASSES or same == CLASSES:
            return True
        return self.row.behind + ((<int64_t>self.row.losses[k] + self.row.whole[same]) << LOSS_SHIFT) > self.least

    cdef void count(self, const uint32_t* slots, int64_t num) noexcept nogil:
        cdef int64_t i
        for i in range(num):
            if self.table.times[slots[i]] == 0:
                self.touched[self.num_touched] = slots[i]
                self.num_touched += 1
            self.table.times[slots[i]] += 1

    cdef void count_row(self, int64_t r) noexcept nogil:
        # Count the row's features.
        cdef int64_t t, num
        cdef Word* kept
        self.num_touched = 0
        self.count(self.new_slots, self.num_new)
        for t in range(self.token_stops[r - 1] if r else 0, self.token_stops[r]):
            if self.uses[self.tokens[t]] == 1:
                continue
            if self.memo.place_of[self.tokens[t]]:
                kept = self.memo.words + self.memo.place_of[self.tokens[t]] - 1
                self.count(self.memo.slots + kept.start, kept.num_found)
            else:  # forgotten since
                num = self.read(self.tokens[t])
                self.count(self.places, self.look_up(self.keys, num, self.places))

    cdef bint is_near(self) noexcept nogil:
        # Whether the label cannot be too far behind, by how often the row has each feature. Counts above ``COUNTS`` would lose less.
        cdef int64_t i, loss = 0, count, times
        cdef int32_t tag
        for i in range(self.num_touched):
            tag, times = self.table.tags[self.touched[i]], self.table.times[self.touched[i]]
            count = (tag % TAGS) >> 1
            loss += times * (self.counts.values[tag >> 1] - self.counts.values[(tag >> 1) - min(times, count)])
            if tag & 1 and count <= times:
                loss += times * self.counts.spread[tag // TAGS]
        return self.row.behind + loss <= self.least

    cdef void forget_counts(self) noexcept nogil:
        cdef int64_t i
        for i in range(self.num_touched):
            self.table.times[self.touched[i]] = 0

    cdef void take_out(self, int label) noexcept nogil:
        # Features seen in this row alone say nothing, for any language; of the others the label has fewer.
        cdef int64_t i, count, left
        cdef int32_t times
        cdef int g
        cdef uint32_t k
        cdef uint16_t tag
        cdef int32_t alone[NUM_GROUPS]
        memset(alone, 0, sizeof(alone))
        for i in range(self.num_touched):
            k = self.touched[i]
            times = self.table.times[k]
            tag, g = self.table.tags[k], group_in(self.table.slots[k].found)
            count = self.counts.count_of(self.table.slots[k].found, tag, label)
            left = max(count - times, 0)
            if left == 0 and tag & 1:
                alone[g] -= times
            else:
                self.row.acc[label] += times * value(self.counts, g, left)
            self.row.acc[label] -= times * value(self.counts, g, count)
        self.scorer.pay(alone, self.row.acc)

    cdef void run(self, const int64_t[::1] rows, const int32_t[::1] labels, int32_t[::1] tops, int32_t[::1] leads) noexcept nogil:
        cdef int64_t i, r
        cdef int label = -1
        self.note_uses(rows)
        for i in range(rows.shape[0]):
            r = rows[i]
            if labels[r] != label:
                label = labels[r]
                self.counts.put(&self.table, label)
            self.add_row(r, label)
            tops[i], leads[i] = label, 0
            if self.may_be_far(label):
                self.count_row(r)
                if not self.is_near():
                    self.take_out(label)
                    tops[i] = best_of(self.row.acc, self.scorer.num_languages)
                    leads[i] = self.row.acc[tops[i]] - self.row.acc[label]
                self.forget_counts()


cdef int best_of(const int32_t* acc, int num) noexcept nogil:
    # The lowest number of the best score.
    cdef int32_t most = most_of(acc, num)
    cdef int l
    for l in range(num):
        if acc[l] == most:
            return l
    return 0


def leave_one_out(
    OwnCounts counts,
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    const int32_t[::1] labels,
    const int64_t[::1] rows,
    int64_t least,
):
    """Top language of the chosen rows and its lead over the label, as two int32 arrays.

    Rows must be among those that were counted; those of one label should follow each other. Leads of more than ``least`` are
    exact, others are at most that. Features seen in a row alone are skipped.
    """
    tops, leads = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    cdef int32_t[::1] top_view = tops, lead_view = leads
    cdef Search search = Search(counts, tokens, token_stops, words, word_stops, rows, least)
    with nogil:
        search.run(rows, labels, top_view, lead_view)
    return tops, leads
