"""Words and the ids that a slow encoder gave them, so that it sees each of them once.

``find`` cuts texts into words and looks them up; those it has not seen get an entry and are handed back. ``learn``
gives entries their ids, ``emit`` writes the ids of words that were found. Where a text may be cut is for the caller to
say, by one of four ways:

``BEFORE_MARK``  before U+2581, which stands for a space;
``SPACES``       at white space (9, 10, 13, 32), which belongs to no word;
``PUNCTUATION``  there, and around every ASCII punctuation mark that has ASCII on both sides;
``PLAIN``        before a run of spaces between two plain characters: printable ASCII, and letters that no normalizer
                 turns into spaces or joins with what follows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.chars import check_rows

BEFORE_MARK, SPACES, PUNCTUATION, PLAIN = 0, 1, 2, 3
cdef uint64_t PRIME = 0x9E3779B97F4A7C15


cdef inline bint is_space(uint8_t c) noexcept nogil:
    return c == 32 or c == 9 or c == 10 or c == 13


cdef inline bint is_mark(uint8_t c) noexcept nogil:
    """ASCII punctuation."""
    return 33 <= c < 48 or 58 <= c < 65 or 91 <= c < 97 or 123 <= c < 127


cdef inline bint is_plain(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Whether the character at ``p`` is plain; see above."""
    if p[0] < 0x80:
        return 33 <= p[0] < 127
    if p[0] == 0xCE:
        return left > 1 and p[1] >= 0x86
    return 0xC3 <= p[0] <= 0xCA or 0xCF <= p[0] <= 0xD1 or 0xE4 <= p[0] <= 0xE9


cdef Py_ssize_t plain_end(const uint8_t* text, Py_ssize_t i, Py_ssize_t stop) noexcept nogil:
    """Where the word that begins at ``i`` ends, cut before spaces between plain characters."""
    cdef Py_ssize_t j, before
    while i < stop and text[i] == 32:
        i += 1
    while i < stop:
        while i < stop and text[i] != 32:
            i += 1
        if i == stop:
            return stop
        before, j = i - 1, i
        while before > 0 and (text[before] & 0xC0) == 0x80:
            before -= 1
        while j < stop and text[j] == 32:
            j += 1
        if j < stop and is_plain(text + before, i - before) and is_plain(text + j, stop - j):
            return i
        i = j
    return stop


cdef Py_ssize_t word_end(const uint8_t* text, Py_ssize_t i, Py_ssize_t stop, int how) noexcept nogil:
    """Where the word that begins at ``i`` ends."""
    cdef Py_ssize_t begin = i
    if how == 3:
        return plain_end(text, i, stop)
    if how == 0:
        i += 1
        while i < stop and not (text[i] == 0xE2 and stop - i >= 3 and text[i + 1] == 0x96 and text[i + 2] == 0x81):
            i += 1
        return i
    while i < stop and not is_space(text[i]):
        if how == 2 and i > begin and text[i] < 0x80 and text[i - 1] < 0x80:
            if is_mark(text[i]) or is_mark(text[i - 1]):
                return i
        i += 1
    return i


cdef inline uint64_t hash_bytes(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef uint64_t h = <uint64_t>size * PRIME, piece
    while size >= 8:
        memcpy(&piece, p, 8)
        h = (h ^ (h >> 29) ^ piece) * PRIME
        p, size = p + 8, size - 8
    piece = 0
    memcpy(&piece, p, size)
    h = (h ^ (h >> 29) ^ piece) * PRIME
    return h ^ (h >> 32)


cdef struct Entry:
    uint64_t hash
    int64_t key
    int64_t ids
    int32_t size
    int32_t num_ids


cdef class WordMemory:
    """The words of one thread.

    Attributes:
        num_words: Entries.
        num_bytes: Memory they take.
    """

    cdef Entry* entries
    cdef int32_t* slots
    cdef uint8_t* keys
    cdef uint32_t* ids
    cdef Py_ssize_t num_slots, num_entries, room_entries, num_keys, room_keys, num_ids, room_ids

    def __cinit__(self):
        self.num_slots = 1 << 16
        self.slots = <int32_t*>calloc(self.num_slots, sizeof(int32_t))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.entries)
        free(self.slots)
        free(self.keys)
        free(self.ids)

    @property
    def num_words(self):
        return self.num_entries

    @property
    def num_bytes(self):
        return 4 * self.num_slots + sizeof(Entry) * self.room_entries + self.room_keys + 4 * self.room_ids

    cdef int grow_slots(self) except -1 nogil:
        cdef Py_ssize_t i, at, size = 4 * self.num_slots
        cdef int32_t* slots = <int32_t*>calloc(size, sizeof(int32_t))
        if slots == NULL:
            with gil:
                raise MemoryError
        for i in range(self.num_entries):
            at = self.entries[i].hash & (size - 1)
            while slots[at]:
                at = (at + 1) & (size - 1)
            slots[at] = <int32_t>(i + 1)
        free(self.slots)
        self.slots, self.num_slots = slots, size
        return 0

    cdef void* grown(self, void* data, Py_ssize_t needed, Py_ssize_t* room, Py_ssize_t item) except NULL nogil:
        """Return room for ``needed`` items."""
        cdef Py_ssize_t size = max(needed, room[0] * 3 // 2, 1024)
        if needed <= room[0]:
            return data
        cdef void* more = realloc(data, size * item)
        if more == NULL:
            with gil:
                raise MemoryError
        room[0] = size
        return more

    cdef Py_ssize_t look_up(self, const uint8_t* p, Py_ssize_t size) except -1 nogil:
        """The number of a word's entry, which may be a new one."""
        cdef uint64_t h = hash_bytes(p, size)
        cdef Py_ssize_t at = h & (self.num_slots - 1)
        cdef Entry* entry
        while self.slots[at]:
            entry = &self.entries[self.slots[at] - 1]
            if entry.hash == h and entry.size == size and memcmp(self.keys + entry.key, p, size) == 0:
                return self.slots[at] - 1
            at = (at + 1) & (self.num_slots - 1)
        self.entries = <Entry*>self.grown(
            self.entries, self.num_entries + 1, &self.room_entries, sizeof(Entry)
        )
        self.keys = <uint8_t*>self.grown(self.keys, self.num_keys + size, &self.room_keys, 1)
        memcpy(self.keys + self.num_keys, p, size)
        self.entries[self.num_entries] = Entry(h, self.num_keys, 0, <int32_t>size, -1)
        self.num_keys += size
        self.num_entries += 1
        self.slots[at] = <int32_t>self.num_entries
        if 2 * self.num_entries > self.num_slots:
            self.grow_slots()
        return self.num_entries - 1

    def find(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, int how):
        """Cut every text and look its words up.

        Returns:
            (entry of each word, first word of each text with the total at the end, new words).
        """
        cdef Py_ssize_t i, j, k, size, n = starts.shape[0], total = 0, first = self.num_entries
        cdef int64_t num_bytes = check_rows(buffer.shape[0], starts, stops)
        if num_bytes > 0x7FFFFFFF:
            raise ValueError(f"{num_bytes} bytes at once")
        found = np.empty(num_bytes, np.int32)
        offsets = np.zeros(n + 1, np.int64)
        cdef int32_t[::1] words = found
        cdef int64_t[::1] ends = offsets
        cdef const uint8_t* text
        with nogil:
            for i in range(n):
                j, k = starts[i], stops[i]
                text = &buffer[0] if k > j else NULL
                while j < k:
                    if (how == 1 or how == 2) and is_space(text[j]):
                        j += 1
                        continue
                    size = word_end(text, j, k, how) - j
                    words[total] = <int32_t>self.look_up(text + j, size)
                    total += 1
                    j += size
                ends[i + 1] = total
        new = [
            (<char*>self.keys)[self.entries[i].key : self.entries[i].key + self.entries[i].size]
            for i in range(first, self.num_entries)
        ]
        return found[:total], offsets, new

    def learn(self, const uint32_t[::1] ids, const int64_t[::1] offsets):
        """Give the newest entries their ids, in the order in which ``find`` returned them."""
        cdef Py_ssize_t i, n = offsets.shape[0] - 1, first = self.num_entries - n
        if first < 0 or offsets[0] != 0 or offsets[n] > ids.shape[0]:
            raise ValueError(f"ids of {n} words for {self.num_entries} entries")
        self.ids = <uint32_t*>self.grown(
            self.ids, self.num_ids + offsets[n], &self.room_ids, sizeof(uint32_t)
        )
        for i in range(n):
            if offsets[i + 1] < offsets[i] or offsets[i + 1] > offsets[n]:
                raise ValueError(f"offset {i + 1} goes back")
            self.entries[first + i].ids = self.num_ids + offsets[i]
            self.entries[first + i].num_ids = <int32_t>(offsets[i + 1] - offsets[i])
        if offsets[n]:
            memcpy(self.ids + self.num_ids, &ids[0], offsets[n] * sizeof(uint32_t))
        self.num_ids += offsets[n]

    def emit(self, const int32_t[::1] words, const int64_t[::1] offsets):
        """The ids of texts of known words: (ids, offsets)."""
        cdef Py_ssize_t i, j, n = offsets.shape[0] - 1, total = 0
        for j in range(words.shape[0]):
            if not 0 <= words[j] < self.num_entries or self.entries[words[j]].num_ids < 0:
                raise ValueError(f"word {j} has no ids")
            total += self.entries[words[j]].num_ids
        flat = np.empty(total, np.uint32)
        ends = np.zeros(n + 1, np.int64)
        cdef uint32_t[::1] out = flat
        cdef int64_t[::1] stops = ends
        cdef Entry* entry
        if n and (offsets[0] != 0 or offsets[n] != words.shape[0]):
            raise ValueError("offsets do not cover the words")
        with nogil:
            total = 0
            for i in range(n):
                for j in range(offsets[i], offsets[i + 1]):
                    entry = &self.entries[words[j]]
                    if entry.num_ids:
                        memcpy(&out[total], self.ids + entry.ids, entry.num_ids * sizeof(uint32_t))
                        total += entry.num_ids
                stops[i + 1] = total
        return flat, ends
