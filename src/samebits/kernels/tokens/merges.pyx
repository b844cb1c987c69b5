"""Learn byte pairs: merge the commonest pair of neighbours, again and again.

Words are runs of symbols with a count. Of all pairs of neighbouring symbols the one that occurs most often is merged into a
new symbol, in every word; among equally common pairs the one whose left symbol has the lower id is taken, then the one
whose right symbol has. Two pairs that spell the same token give it one id.

Pairs wait in a heap, each with the words in which it was found. Merging changes the counts of neighbouring pairs, so an
entry at the top may be out of date: it goes back with the count of now. That is the order in which ``BpeTrainer`` of
``tokenizers`` works, with its consequences: a pair that appears again after it was waiting already gets a second entry with the
new words only, and can so be merged twice. The caller keeps the later one, as ``tokenizers`` does.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

import numpy as np


cdef struct Pair:
    uint64_t key  # left id in the upper half, right id in the lower
    int64_t count
    int64_t fresh  # its place among the pairs that this merge has made, or -1


cdef struct Entry:
    # A pair in the heap, and where it was found.
    int64_t count
    uint64_t key
    int64_t pair
    int32_t* words
    int32_t num_words
    int32_t room


cdef inline uint64_t spread(uint64_t key) noexcept nogil:
    key *= <uint64_t>0x9E3779B97F4A7C15
    return key ^ (key >> 32)


cdef inline bint before(const Entry* a, const Entry* b) noexcept nogil:
    """Whether ``a`` is merged first."""
    return a.count > b.count if a.count != b.count else a.key < b.key


cdef class _Merger:
    """The words, the pairs, and the heap. Methods that can run out of memory return -1."""

    cdef int32_t* symbols
    cdef int64_t* starts
    cdef int32_t* lengths
    cdef int64_t* counts
    cdef int64_t num_words
    cdef Pair* pairs
    cdef int64_t* slots
    cdef int64_t num_pairs, room_pairs, num_slots
    cdef Entry* heap
    cdef int64_t num_heap, room_heap
    cdef Entry* made
    cdef int64_t num_made, room_made

    def __cinit__(self, const int32_t[::1] symbols, const int64_t[::1] offsets, const int64_t[::1] counts):
        cdef int64_t i, n = counts.shape[0]
        self.num_words = n
        self.num_slots = 1 << 16
        self.symbols = <int32_t*>malloc(max(1, symbols.shape[0]) * sizeof(int32_t))
        self.starts = <int64_t*>malloc(max(1, n) * sizeof(int64_t))
        self.lengths = <int32_t*>malloc(max(1, n) * sizeof(int32_t))
        self.counts = <int64_t*>malloc(max(1, n) * sizeof(int64_t))
        self.slots = <int64_t*>calloc(self.num_slots, sizeof(int64_t))
        if not (self.symbols and self.starts and self.lengths and self.counts and self.slots):
            raise MemoryError
        for i in range(symbols.shape[0]):
            self.symbols[i] = symbols[i]
        for i in range(n):
            self.starts[i] = offsets[i]
            self.lengths[i] = <int32_t>(offsets[i + 1] - offsets[i])
            self.counts[i] = counts[i]

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.num_heap):
            free(self.heap[i].words)
        for i in range(self.num_made):
            free(self.made[i].words)
        free(self.symbols)
        free(self.starts)
        free(self.lengths)
        free(self.counts)
        free(self.pairs)
        free(self.slots)
        free(self.heap)
        free(self.made)

    cdef int grow_slots(self) noexcept nogil:
        cdef int64_t i, at, size = 4 * self.num_slots
        cdef int64_t* slots = <int64_t*>calloc(size, sizeof(int64_t))
        if slots == NULL:
            return -1
        for i in range(self.num_pairs):
            at = spread(self.pairs[i].key) & <uint64_t>(size - 1)
            while slots[at]:
                at = (at + 1) & (size - 1)
            slots[at] = i + 1
        free(self.slots)
        self.slots, self.num_slots = slots, size
        return 0

    cdef int64_t pair_of(self, uint64_t key) noexcept nogil:
        """The number of a pair, which may be a new one; -1 when memory is short."""
        cdef int64_t room, at = spread(key) & <uint64_t>(self.num_slots - 1)
        cdef void* more
        while self.slots[at]:
            if self.pairs[self.slots[at] - 1].key == key:
                return self.slots[at] - 1
            at = (at + 1) & (self.num_slots - 1)
        if self.num_pairs == self.room_pairs:
            room = max(4096, 2 * self.room_pairs)
            more = realloc(self.pairs, room * sizeof(Pair))
            if more == NULL:
                return -1
            self.pairs, self.room_pairs = <Pair*>more, room
        self.pairs[self.num_pairs] = Pair(key, 0, -1)
        self.num_pairs += 1
        self.slots[at] = self.num_pairs
        if 2 * self.num_pairs > self.num_slots and self.grow_slots() != 0:
            return -1
        return self.num_pairs - 1

    cdef int note(self, uint64_t key, int64_t word, int64_t change) noexcept nogil:
        """Change a pair's count, and when it grew note the word for a new entry."""
        cdef int64_t room, pair = self.pair_of(key)
        cdef Entry* entry
        cdef void* more
        if pair < 0:
            return -1
        self.pairs[pair].count += change
        if change < 0:
            return 0
        if self.pairs[pair].fresh < 0:
            if self.num_made == self.room_made:
                room = max(1024, 2 * self.room_made)
                more = realloc(self.made, room * sizeof(Entry))
                if more == NULL:
                    return -1
                self.made, self.room_made = <Entry*>more, room
            self.made[self.num_made] = Entry(0, key, pair, NULL, 0, 0)
            self.pairs[pair].fresh = self.num_made
            self.num_made += 1
        entry = &self.made[self.pairs[pair].fresh]
        if entry.num_words and entry.words[entry.num_words - 1] == word:
            return 0
        if entry.num_words == entry.room:
            room = 2 if entry.room == 0 else 2 * entry.room
            more = realloc(entry.words, room * sizeof(int32_t))
            if more == NULL:
                return -1
            entry.words, entry.room = <int32_t*>more, <int32_t>room
        entry.words[entry.num_words] = <int32_t>word
        entry.num_words += 1
        return 0

    cdef int push(self, Entry entry) noexcept nogil:
        cdef int64_t up, room, at = self.num_heap
        cdef void* more
        if self.num_heap == self.room_heap:
            room = max(4096, 2 * self.room_heap)
            more = realloc(self.heap, room * sizeof(Entry))
            if more == NULL:
                return -1
            self.heap, self.room_heap = <Entry*>more, room
        self.num_heap += 1
        while at:
            up = (at - 1) // 2
            if not before(&entry, &self.heap[up]):
                break
            self.heap[at] = self.heap[up]
            at = up
        self.heap[at] = entry
        return 0

    cdef Entry pop(self) noexcept nogil:
        cdef Entry top = self.heap[0], last = self.heap[self.num_heap - 1]
        cdef int64_t at = 0, down = 1
        self.num_heap -= 1
        while down < self.num_heap:
            if down + 1 < self.num_heap and before(&self.heap[down + 1], &self.heap[down]):
                down += 1
            if not before(&self.heap[down], &last):
                break
            self.heap[at] = self.heap[down]
            at, down = down, 2 * down + 1
        self.heap[at] = last
        return top

    cdef int push_made(self) noexcept nogil:
        """Move the pairs that were made to the heap, with their counts of now."""
        cdef int64_t i, count
        for i in range(self.num_made):
            count = self.pairs[self.made[i].pair].count
            self.pairs[self.made[i].pair].fresh = -1
            self.made[i].count = count
            if count <= 0:
                free(self.made[i].words)
            elif self.push(self.made[i]) != 0:
                return -1
            self.made[i].words = NULL
        self.num_made = 0
        return 0

    cdef int count_pairs(self) noexcept nogil:
        """Put every pair of the words into the heap."""
        cdef int64_t w, i
        cdef int32_t* word
        for w in range(self.num_words):
            word = self.symbols + self.starts[w]
            for i in range(self.lengths[w] - 1):
                if self.note(<uint64_t>word[i] << 32 | <uint64_t>word[i + 1], w, self.counts[w]) != 0:
                    return -1
        return self.push_made()

    cdef bint next_pair(self, int64_t min_count, Entry* top) noexcept nogil:
        """Take the pair to merge; False when none is common enough."""
        cdef int64_t count
        while self.num_heap:
            top[0] = self.pop()
            count = self.pairs[top.pair].count
            if count == top.count:
                if count >= min_count:
                    return True
            elif count > 0:
                top.count = count
                self.push(top[0])  # there is room: one was just taken
                continue
            free(top.words)
            if count == top.count:
                break
        return False

    cdef int merge(self, Entry* top, int32_t token) noexcept nogil:
        """Merge a pair in the words of its entry."""
        cdef int32_t left = <int32_t>(top.key >> 32), right = <int32_t>top.key
        cdef int32_t* word
        cdef int64_t k, w, i, out, length, count
        cdef int failed = 0
        for k in range(top.num_words):
            w = top.words[k]
            word, length, count = self.symbols + self.starts[w], self.lengths[w], self.counts[w]
            i = out = 0
            while i < length:
                if word[i] != left or i + 1 == length or word[i + 1] != right:
                    word[out] = word[i]
                    out, i = out + 1, i + 1
                    continue
                if out:
                    failed |= self.note(<uint64_t>word[out - 1] << 32 | <uint64_t>left, w, -count)
                    failed |= self.note(<uint64_t>word[out - 1] << 32 | <uint64_t>token, w, count)
                if i + 2 < length:
                    failed |= self.note(<uint64_t>right << 32 | <uint64_t>word[i + 2], w, -count)
                    failed |= self.note(<uint64_t>token << 32 | <uint64_t>word[i + 2], w, count)
                word[out] = token
                out, i = out + 1, i + 2
            self.lengths[w] = <int32_t>out
        free(top.words)
        return failed or self.push_made()


def learn_merges(
    const int32_t[::1] symbols,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    list tokens,
    int64_t vocab_size,
    int64_t min_count,
    bytes prefix=b"",
):
    """Merge pairs until there are ``vocab_size`` tokens, or no pair occurs ``min_count`` times.

    Args:
        symbols: The symbols of all words, one word after the other; a symbol is an index of ``tokens``.
        offsets: Where each word begins, and the end of the last.
        counts: How often each word occurs.
        tokens: What each id spells; those that no word contains count as well.
        vocab_size: Number of tokens to reach.
        min_count: Least count of a pair that is merged.
        prefix: Stands before a token that continues a word, and is taken away when it is joined to another.

    Returns:
        (left id, right id and made id of every merge, what each id spells).
    """
    cdef Py_ssize_t i, n = counts.shape[0]
    cdef Entry top
    cdef int32_t token
    cdef int failed
    if offsets.shape[0] != n + 1 or n >= 0x7FFFFFFF or (n and (offsets[0] != 0 or offsets[n] > symbols.shape[0])):
        raise ValueError(f"{offsets.shape[0]} offsets for {n} words")
    for i in range(n):
        if not 0 <= offsets[i + 1] - offsets[i] < 0x7FFFFFFF or counts[i] < 0:
            raise ValueError(f"word {i} has a length or a count below 0")
    for i in range(symbols.shape[0]):
        if not 0 <= symbols[i] < len(tokens):
            raise ValueError(f"symbol {symbols[i]} is no token")
    merger = _Merger(symbols, offsets, counts)
    spelled = list(tokens)
    ids = {text: i for i, text in enumerate(spelled)}
    merges = []
    with nogil:
        failed = merger.count_pairs()
    while not failed and len(ids) < vocab_size and merger.next_pair(max(1, min_count), &top):
        left_id, right_id = top.key >> 32, <uint32_t>top.key
        right = spelled[right_id]
        text = spelled[left_id] + (right[len(prefix):] if right.startswith(prefix) else right)
        token = ids.setdefault(text, len(spelled))
        if token == len(spelled):
            spelled.append(text)
        merges.append((left_id, right_id, token))
        with nogil:
            failed = merger.merge(&top, token)
        PyErr_CheckSignals()  # a large sample takes seconds; control-C ends it
    if failed:
        raise MemoryError
    return np.array(merges, np.int32).reshape(-1, 3), spelled
