"""How far each row's label is behind when the row's own counts are taken from it: a row cannot vouch for itself.

A row's scores are the sums of its words' vectors, kept for words that come again; only the label's column needs the row's own
counts taken out, feature by feature. A word's features are looked up once per call and kept as numbers. Rows are taken label by
label, so that what a label has of a feature lies in one place beside how often the row has it.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.features cimport KEYS_PER_BYTE, NUM_GROUPS, group_of, ilog2
from samebits.kernels.langid.score cimport GROUP_BITS, VALUE_SHIFT, Scorer
from samebits.kernels.langid.text.words cimport prefetch

cdef enum:
    MEMO_BYTES = 1 << 25
    TABLE = 8192  # counts whose values are looked up

cdef struct Memo:
    # Vectors and feature numbers of the words of one call; a full memo is emptied.
    int32_t* vectors
    int64_t* starts  # into features, one more than words
    int32_t* features
    int64_t room
    int64_t num
    int64_t most
    int32_t* place_of  # word -> place + 1
    int64_t* held  # place -> word
    uint64_t* keys

cdef struct Own:
    # One feature as the label at hand has it, and as the row at hand has it.
    int32_t times  # in the row
    uint32_t count  # in the label; 0: the label does not have it
    int16_t value
    int16_t group
    int32_t alone  # no other language has it

cdef struct Held:
    Own* of  # by feature
    int32_t* touched
    int64_t num


cdef void free_memo(Memo* m) noexcept nogil:
    free(m.vectors)
    free(m.starts)
    free(m.features)
    free(m.place_of)
    free(m.held)
    free(m.keys)


cdef bint start_memo(Memo* m, Scorer scorer, int64_t num_words, int64_t longest) noexcept nogil:
    memset(m, 0, sizeof(Memo))
    m.most = max(64, min(num_words + 1, MEMO_BYTES // (4 * scorer.width)))
    m.room = 1 << 16
    m.vectors = <int32_t*>malloc(m.most * scorer.width * sizeof(int32_t))
    m.starts = <int64_t*>calloc(m.most + 1, sizeof(int64_t))
    m.features = <int32_t*>malloc(m.room * sizeof(int32_t))
    m.place_of = <int32_t*>calloc(num_words + 1, sizeof(int32_t))
    m.held = <int64_t*>malloc(m.most * sizeof(int64_t))
    m.keys = <uint64_t*>malloc((KEYS_PER_BYTE * longest + 8) * sizeof(uint64_t))
    return not (
        m.vectors == NULL or m.starts == NULL or m.features == NULL or m.place_of == NULL or m.held == NULL
        or m.keys == NULL
    )


cdef int64_t remember(Memo* m, Scorer scorer, int64_t word, const uint8_t* p, int64_t n) noexcept nogil:
    """Return the word's place in the memo, -1 without memory."""
    cdef int64_t i, num, end
    cdef int32_t* grown
    if m.place_of[word]:
        return m.place_of[word] - 1
    if m.num == m.most:
        for i in range(m.num):
            m.place_of[m.held[i]] = 0
        m.num = 0
    memset(m.vectors + m.num * scorer.width, 0, scorer.width * sizeof(int32_t))
    num = scorer.look_up(p, n, m.keys)
    scorer.add_found(m.keys, num, m.vectors + m.num * scorer.width)
    end = m.starts[m.num]
    while end + num > m.room:
        grown = <int32_t*>realloc(m.features, 2 * m.room * sizeof(int32_t))
        if grown == NULL:
            return -1
        m.features = grown
        m.room *= 2
    for i in range(num):
        m.features[end + i] = <int32_t>(m.keys[i] >> GROUP_BITS)
    m.held[m.num] = word
    m.num += 1
    m.starts[m.num] = end + num
    m.place_of[word] = <int32_t>m.num
    return m.num - 1


cdef class ByLanguage:
    """The entries of each language: feature and entry numbers."""

    cdef int64_t[::1] starts
    cdef int32_t[::1] features
    cdef int32_t[::1] entries

    def __cinit__(self, Scorer scorer):
        cdef int64_t f, e, at
        cdef int64_t[::1] next_at
        numbers = np.bincount(np.asarray(scorer.languages), minlength=scorer.num_languages)
        self.starts = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64)
        self.features, self.entries = np.empty(len(scorer.languages), np.int32), np.empty(len(scorer.languages), np.int32)
        next_at = np.asarray(self.starts).copy()
        for f in range(scorer.keys.shape[0]):
            for e in range(scorer.stops[f - 1] if f else 0, scorer.stops[f]):
                at = next_at[scorer.languages[e]]
                self.features[at], self.entries[at] = <int32_t>f, <int32_t>e
                next_at[scorer.languages[e]] += 1

    cdef void put(self, Scorer scorer, Own* own, int label, const uint32_t[::1] counts) noexcept nogil:
        # Put down what a label has.
        cdef int64_t i, f, e
        for i in range(self.starts[label], self.starts[label + 1]):
            f, e = self.features[i], self.entries[i]
            own[f] = Own(
                times=0, count=counts[e], value=scorer.values[e], group=<int16_t>group_of(scorer.keys[f]),
                alone=scorer.stops[f] - (scorer.stops[f - 1] if f else 0) == 1,
            )

    cdef void clear(self, Own* own, int label) noexcept nogil:
        cdef int64_t i
        if label >= 0:
            for i in range(self.starts[label], self.starts[label + 1]):
                own[self.features[i]].count = 0


cdef void take_out(
    Scorer scorer, Held* held, const int64_t[:, ::1] constants, const int32_t* table, int label, int32_t* acc,
) noexcept nogil:
    # Features seen in this row alone say nothing, for any language; of the others the label has fewer.
    cdef int64_t i, left
    cdef int32_t value
    cdef int g, l
    cdef int32_t alone[NUM_GROUPS]
    cdef Own* own
    memset(alone, 0, sizeof(alone))
    for i in range(held.num):
        own = held.of + held.touched[i]
        g = own.group
        left = max(<int64_t>own.count - own.times, 0)
        if left == 0 and own.alone:
            alone[g] += own.times
            acc[label] -= own.times * own.value
        else:
            value = table[g * TABLE + left] if left < TABLE else <int32_t>(
                (constants[g, 1] * ilog2(<uint64_t>(constants[g, 0] * left + 1))) >> VALUE_SHIFT)
            acc[label] -= own.times * (own.value - value)
        own.times = 0
    held.num = 0
    for g in range(NUM_GROUPS):
        if alone[g]:
            for l in range(scorer.num_languages):
                acc[l] += alone[g] * scorer.floors[g, l]


cdef void fill_table(const int64_t[:, ::1] constants, int32_t* table) noexcept nogil:
    cdef int g
    cdef int64_t left
    for g in range(NUM_GROUPS):
        for left in range(TABLE):
            table[g * TABLE + left] = <int32_t>(
                (constants[g, 1] * ilog2(<uint64_t>(constants[g, 0] * left + 1))) >> VALUE_SHIFT)


cdef bint add_row(
    Scorer scorer, Memo* m, Held* held, const uint32_t* tokens, int64_t num, const uint8_t[::1] words,
    const int64_t[::1] word_stops, int32_t* acc,
) noexcept nogil:
    # Sum the words' vectors, and count how often the row has each feature.
    cdef int64_t t, w, start, place, i
    cdef int32_t f
    cdef int l
    cdef const int32_t* vector
    memset(acc, 0, scorer.width * sizeof(int32_t))
    for t in range(num):
        w = tokens[t]
        start = word_stops[w - 1] if w else 0
        place = remember(m, scorer, w, &words[start], word_stops[w] - start)
        if place < 0:
            return False
        vector = m.vectors + place * scorer.width
        for i in range(m.starts[place], m.starts[place + 1]):  # asked for before they are needed
            prefetch(held.of + m.features[i])
        for l in range(scorer.width):
            acc[l] += vector[l]
        for i in range(m.starts[place], m.starts[place + 1]):
            f = m.features[i]
            if held.of[f].count:
                if held.of[f].times == 0:
                    held.touched[held.num] = f
                    held.num += 1
                held.of[f].times += 1
    return True


cdef int best_of(const int32_t* acc, int num) noexcept nogil:
    # The lowest number of the best score; the search for the score alone is done by SIMD.
    cdef int32_t most = acc[0]
    cdef int l
    for l in range(1, num):
        most = max(most, acc[l])
    for l in range(num):
        if acc[l] == most:
            return l
    return 0


def leave_one_out(
    Scorer scorer,
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    const int32_t[::1] labels,
    const uint32_t[::1] counts,
    const int64_t[:, ::1] constants,
):
    """Top language of each row and its lead over the label, as two int32 arrays.

    ``counts`` are the entries' counts and ``constants[g]`` is (1 / alpha, weight) of group g, from which the values were
    made. Features seen in this row alone are skipped.
    """
    cdef int64_t n = token_stops.shape[0], i, r, w, start, longest = 0, num_features = scorer.keys.shape[0] + 1
    cdef int l, label = -1
    cdef bint ok = True
    tops, leads = np.empty(n, np.int32), np.empty(n, np.int32)
    cdef int32_t[::1] top_view = tops, lead_view = leads
    cdef const int64_t[::1] order = np.argsort(np.asarray(labels), kind="stable")
    cdef ByLanguage entries = ByLanguage(scorer)
    for w in range(word_stops.shape[0]):
        longest = max(longest, word_stops[w] - (word_stops[w - 1] if w else 0))
    cdef Memo memo
    cdef Held held = Held(
        of=<Own*>calloc(num_features, sizeof(Own)), touched=<int32_t*>malloc(num_features * sizeof(int32_t)), num=0
    )
    cdef int32_t* acc = <int32_t*>malloc(scorer.width * sizeof(int32_t))
    cdef int32_t* table = <int32_t*>malloc(NUM_GROUPS * TABLE * sizeof(int32_t))
    ok = start_memo(&memo, scorer, word_stops.shape[0], longest)
    try:
        if not ok or held.of == NULL or held.touched == NULL or acc == NULL or table == NULL:
            raise MemoryError
        with nogil:
            fill_table(constants, table)
            for i in range(n):
                r = order[i]
                if labels[r] != label:
                    entries.clear(held.of, label)
                    label = labels[r]
                    entries.put(scorer, held.of, label, counts)
                start = token_stops[r - 1] if r else 0
                ok = add_row(scorer, &memo, &held, &tokens[0] + start, token_stops[r] - start, words, word_stops, acc)
                if not ok:
                    break
                take_out(scorer, &held, constants, table, label, acc)
                top_view[r] = best_of(acc, scorer.num_languages)
                lead_view[r] = acc[top_view[r]] - acc[label]
        if not ok:
            raise MemoryError
        return tops, leads
    finally:
        free_memo(&memo)
        free(held.of)
        free(held.touched)
        free(acc)
        free(table)
