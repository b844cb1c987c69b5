# cython: language_level=3
"""Counting word and character n-grams of UTF-8 rows: one pass, one hash table, no Python objects.

Words are what ``str.split()`` gives: maximal runs between Unicode white space. Keys are kept in order of first sight, so
folding the tables of consecutive shards in order gives the table of one sequential pass.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

cdef extern from *:
    """
    #define PREFETCH(p) __builtin_prefetch(p)
    """
    void PREFETCH(const void* p) noexcept nogil
    int COUNT_ZEROS "__builtin_ctzll"(uint64_t x) noexcept nogil

cdef struct Slot:
    unsigned int tag  # low 32 bits of the hash: position and first comparison
    int entry  # entry number, or -1

cdef struct Entry:
    uint64_t head  # first eight bytes and
    uint64_t tail  # last eight bytes: keys of up to 16 bytes are compared without touching the arena
    int64_t offset
    int64_t length
    int64_t count

include "ngram_keys.pxi"

# Keys are looked up in batches: while one waits for memory, the next ones are fetched (1.7x on a 100,000 word table).
DEF BATCH = 32


cdef void* resized(void* old, uint64_t num_bytes) except NULL nogil:
    cdef void* fresh = realloc(old, num_bytes)
    if not fresh:
        with gil:
            raise MemoryError
    return fresh


cdef class NgramTable:
    """Counts by key. Memory: 40 bytes an entry, its key, and 16 to 64 bytes of slots."""

    cdef Entry* entries
    cdef int64_t num_entries, entry_room
    cdef uint8_t* arena
    cdef int64_t arena_size, arena_room
    cdef Slot* slots
    cdef uint64_t mask
    cdef Key[BATCH] batch
    cdef int waiting
    cdef public int64_t total

    def __cinit__(self):
        self.entry_room = 1024
        self.arena_room = 16384
        self.mask = 4095
        self.entries = <Entry*>resized(NULL, self.entry_room * sizeof(Entry))
        self.arena = <uint8_t*>resized(NULL, self.arena_room)
        self.slots = <Slot*>resized(NULL, (self.mask + 1) * sizeof(Slot))
        memset(self.slots, 0xFF, (self.mask + 1) * sizeof(Slot))

    def __dealloc__(self):
        free(self.entries)
        free(self.arena)
        free(self.slots)

    def __len__(self):
        return self.num_entries

    cdef int grow_slots(self) except -1 nogil:
        cdef uint64_t size = (self.mask + 1) * 4
        cdef Slot* fresh = <Slot*>resized(NULL, size * sizeof(Slot))
        cdef uint64_t old, at
        memset(fresh, 0xFF, size * sizeof(Slot))
        for old in range(self.mask + 1):
            if self.slots[old].entry < 0:
                continue
            at = self.slots[old].tag & (size - 1)
            while fresh[at].entry >= 0:
                at = (at + 1) & (size - 1)
            fresh[at] = self.slots[old]
        free(self.slots)
        self.slots = fresh
        self.mask = size - 1
        return 0

    cdef int append(self, Key* key) except -1 nogil:
        """Make a new entry at the end: first sight decides the order."""
        if self.num_entries == self.entry_room:
            self.entries = <Entry*>resized(self.entries, self.entry_room * 2 * sizeof(Entry))
            self.entry_room *= 2
        if self.arena_size + key.length > self.arena_room:
            self.arena = <uint8_t*>resized(self.arena, (self.arena_room + key.length) * 2)
            self.arena_room = (self.arena_room + key.length) * 2
        memcpy(self.arena + self.arena_size, key.start, key.length)
        self.entries[self.num_entries] = Entry(key.head, key.tail, self.arena_size, key.length, key.count)
        self.arena_size += key.length
        self.num_entries += 1
        return 0

    cdef int bump(self, Key* key) except -1 nogil:
        """Add to the count of a key, inserting it on first sight."""
        cdef uint64_t at = key.tag & self.mask
        cdef Slot slot = self.slots[at]
        cdef Entry* entry
        while slot.entry >= 0:
            if slot.tag == key.tag:
                entry = self.entries + slot.entry
                if entry.head == key.head and entry.tail == key.tail and entry.length == key.length and (
                    key.length <= 16 or memcmp(self.arena + entry.offset, key.start, key.length) == 0
                ):
                    entry.count += key.count
                    return 0
            at = (at + 1) & self.mask
            slot = self.slots[at]
        self.slots[at] = Slot(key.tag, <int>self.num_entries)
        self.append(key)
        if <uint64_t>self.num_entries * 2 > self.mask:
            self.grow_slots()
        return 0

    cdef int put(self, const uint8_t* start, int64_t size, const uint8_t* end, int64_t count) except -1 nogil:
        """Take a key into the batch; ``end`` is the end of the buffer that holds it."""
        make_key(self.batch + self.waiting, start, size, end, count)
        PREFETCH(self.slots + (self.batch[self.waiting].tag & self.mask))
        self.waiting += 1
        self.total += count
        if self.waiting == BATCH:
            self.flush()
        return 0

    cdef int flush(self) except -1 nogil:
        """Look the batch up; must be called before the buffer of its keys goes away."""
        cdef int i, entry
        for i in range(self.waiting):
            entry = self.slots[self.batch[i].tag & self.mask].entry
            if entry >= 0:
                PREFETCH(self.entries + entry)
        for i in range(self.waiting):
            self.bump(self.batch + i)
        self.waiting = 0
        return 0

    def count_words(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, int n):
        """Count the word n-grams of each row; words of an n-gram are joined by one space, none crosses a row."""
        cdef int64_t i
        cdef const uint8_t* base
        cdef uint8_t* joined = NULL
        cdef int64_t longest = 0
        if starts.shape[0] == 0 or buffer.shape[0] == 0:
            return
        base = &buffer[0]
        with nogil:
            if n > 1:
                for i in range(starts.shape[0]):
                    longest = max(longest, stops[i] - starts[i])
                joined = <uint8_t*>resized(NULL, longest + 1)
            try:
                for i in range(starts.shape[0]):
                    if n == 1:
                        self.row_words(base + starts[i], base + stops[i], base + buffer.shape[0])
                    else:
                        self.row_word_ngrams(base + starts[i], base + stops[i], n, joined, longest)
                self.flush()
            finally:
                free(joined)

    cdef int row_words(self, const uint8_t* p, const uint8_t* end, const uint8_t* limit) except -1 nogil:
        cdef const uint8_t* start
        while p < end:
            start = p
            p = word_end(p, end)
            if p > start:
                self.put(start, p - start, limit, 1)
            if p < end:
                p += space_at(p, end)
        return 0

    cdef int row_word_ngrams(
        self, const uint8_t* p, const uint8_t* end, int n, uint8_t* joined, int64_t room
    ) except -1 nogil:
        """Write the row with single spaces into ``joined``, then count each window of n words in it."""
        cdef int64_t size = 0, space, first, word, seen
        cdef bint in_word = False
        while p < end:
            space = space_at(p, end)
            if space == 0:
                if not in_word and size:
                    joined[size] = 0x20
                    size += 1
                in_word = True
                joined[size] = p[0]
                size += 1
                p += 1
            else:
                in_word = False
                p += space
        first, seen, word = 0, 0, 0
        while word < size:
            if joined[word] == 0x20:
                seen += 1
                if seen >= n:
                    self.put(joined + first, word - first, joined + room, 1)
                    while joined[first] != 0x20:
                        first += 1
                    first += 1
            word += 1
        if size and seen + 1 >= n:
            self.put(joined + first, size - first, joined + room, 1)
        self.flush()
        return 0

    def count_chars(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, int n):
        """Count the n-grams of code points of each row; none crosses a row."""
        cdef int64_t i
        cdef const uint8_t* base
        if starts.shape[0] == 0 or buffer.shape[0] == 0:
            return
        base = &buffer[0]
        with nogil:
            for i in range(starts.shape[0]):
                self.row_chars(base + starts[i], base + stops[i], n, base + buffer.shape[0])
            self.flush()

    cdef int row_chars(self, const uint8_t* p, const uint8_t* end, int n, const uint8_t* limit) except -1 nogil:
        cdef const uint8_t* first = p
        cdef int inside = 0
        while p < end:
            p += 1
            while p < end and (p[0] & 0xC0) == 0x80:
                p += 1
            inside += 1
            if inside >= n:
                self.put(first, p - first, limit, 1)
                first += 1
                while first < p and (first[0] & 0xC0) == 0x80:
                    first += 1
        return 0

    def add(self, const uint8_t[::1] keys, const int64_t[::1] offsets, const int64_t[::1] counts):
        """Add the arrays of another table, in their order."""
        cdef int64_t i
        cdef const uint8_t* base
        if counts.shape[0] == 0:
            return
        base = &keys[0]
        with nogil:
            for i in range(counts.shape[0]):
                self.put(base + offsets[i], offsets[i + 1] - offsets[i], base + keys.shape[0], counts[i])
            self.flush()

    def arrays(self):
        """Return (keys, offsets, counts) in order of first sight; key i is ``keys[offsets[i]:offsets[i + 1]]``."""
        offsets = np.empty(self.num_entries + 1, dtype=np.int64)
        counts = np.empty(self.num_entries, dtype=np.int64)
        cdef int64_t[::1] offsets_view = offsets
        cdef int64_t[::1] counts_view = counts
        cdef int64_t i
        for i in range(self.num_entries):
            offsets_view[i] = self.entries[i].offset
            counts_view[i] = self.entries[i].count
        offsets_view[self.num_entries] = self.arena_size
        return PyBytes_FromStringAndSize(<char*>self.arena, self.arena_size), offsets, counts

    def partitions(self, int number):
        """Return ``number`` triples (keys, offsets, counts), each in order of first sight: a key's hash says in which it is.

        The hash is a function of the key's bytes alone, so a key is in the same partition of every table.
        """
        cdef uint64_t at
        cdef int part
        if not 1 <= number <= 1 << 16:
            raise ValueError(f"{number} partitions")
        if number == 1:
            keys, offsets, counts = self.arrays()
            return [(np.frombuffer(keys, np.uint8), offsets, counts)]
        part_of = np.empty(self.num_entries, dtype=np.uint16)
        sizes = np.zeros(number, dtype=np.int64)
        cdef uint16_t[::1] parts = part_of
        cdef int64_t[::1] size_of = sizes
        with nogil:
            for at in range(self.mask + 1):
                if self.slots[at].entry < 0:
                    continue
                # the high bits: the low ones say where a key is in the table that will hold the partition
                part = <int>((<uint64_t>self.slots[at].tag * <uint64_t>number) >> 32)
                parts[self.slots[at].entry] = part
                size_of[part] += 1
        order = np.argsort(part_of, kind="stable")
        stops = np.cumsum(sizes)
        return [self.take(order[stop - size : stop]) for stop, size in zip(stops, sizes)]

    def take(self, const int64_t[::1] order):
        """Return (keys, offsets, counts) of the entries with these numbers, in this order."""
        offsets = np.empty(order.shape[0] + 1, dtype=np.int64)
        counts = np.empty(order.shape[0], dtype=np.int64)
        cdef int64_t[::1] offsets_view = offsets
        cdef int64_t[::1] counts_view = counts
        cdef int64_t i, at = 0
        cdef uint8_t[::1] keys_view
        cdef Entry* entry
        for i in range(order.shape[0]):
            if not 0 <= order[i] < self.num_entries:
                raise IndexError(f"entry {order[i]} of {self.num_entries}")
            at += self.entries[order[i]].length
        keys = np.empty(at, dtype=np.uint8)
        keys_view = keys
        at = 0
        with nogil:
            for i in range(order.shape[0]):
                entry = self.entries + order[i]
                offsets_view[i] = at
                counts_view[i] = entry.count
                if entry.length:
                    memcpy(&keys_view[at], self.arena + entry.offset, entry.length)
                at += entry.length
        offsets_view[order.shape[0]] = at
        return keys, offsets, counts

    def ranking(self):
        """Return entry numbers by falling count; equal counts by the bytes of their keys."""
        order = np.empty(self.num_entries, dtype=np.int64)
        cdef int64_t[::1] order_view = order
        cdef Ranked* ranked = <Ranked*>resized(NULL, (self.num_entries + 1) * sizeof(Ranked))
        cdef int64_t i
        with nogil:
            for i in range(self.num_entries):
                ranked[i] = Ranked(
                    self.entries[i].count, self.arena + self.entries[i].offset, self.entries[i].length, i
                )
            qsort(ranked, self.num_entries, sizeof(Ranked), compare_ranked)
            for i in range(self.num_entries):
                order_view[i] = ranked[i].entry
        free(ranked)
        return order


cdef struct Ranked:
    int64_t count
    const uint8_t* key
    int64_t length
    int64_t entry


cdef int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*>a
    cdef const Ranked* y = <const Ranked*>b
    cdef int order
    if x.count != y.count:
        return -1 if x.count > y.count else 1
    order = memcmp(x.key, y.key, min(x.length, y.length))
    if order:
        return order
    return -1 if x.length < y.length else 1
