"""Pre-tokens of byte-level byte pairs and how often each occurs, for training.

Texts are cut as ``cutting`` says. ``PretokenCounts`` keeps distinct pre-tokens with their counts, and takes the counts of another
table, so shards can be counted apart and folded. Tokenizers that cut differently begin with words between
white space, which ``add_words`` counts.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.cutting cimport cut
from samebits.kernels.tokens.chars import check_rows

OTHER, LETTER, DIGIT, SPACE = 0, 1, 2, 3
cdef uint64_t PRIME = 0x9E3779B97F4A7C15


cdef struct Entry:
    uint64_t hash
    int64_t key
    int64_t size
    int64_t count


cdef inline uint64_t hash_bytes(const uint8_t* p, int64_t size) noexcept nogil:
    cdef uint64_t h = <uint64_t>size * PRIME, piece
    while size >= 8:
        memcpy(&piece, p, 8)
        h = (h ^ (h >> 29) ^ piece) * PRIME
        p, size = p + 8, size - 8
    piece = 0
    memcpy(&piece, p, size)
    h = (h ^ (h >> 29) ^ piece) * PRIME
    return h ^ (h >> 32)


cdef class PretokenCounts:
    """Distinct pre-tokens with their counts, in the order in which they were first met."""

    cdef Entry* entries
    cdef int64_t* slots
    cdef uint8_t* keys
    cdef int64_t num_slots, num_entries, room_entries, num_keys, room_keys

    def __cinit__(self):
        self.num_slots = 1 << 14
        self.slots = <int64_t*>calloc(self.num_slots, sizeof(int64_t))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.entries)
        free(self.slots)
        free(self.keys)

    def __len__(self):
        return self.num_entries

    cdef int grow_slots(self) noexcept nogil:
        cdef int64_t i, at, size = 4 * self.num_slots
        cdef int64_t* slots = <int64_t*>calloc(size, sizeof(int64_t))
        if slots == NULL:
            return -1
        for i in range(self.num_entries):
            at = self.entries[i].hash & <uint64_t>(size - 1)
            while slots[at]:
                at = (at + 1) & (size - 1)
            slots[at] = i + 1
        free(self.slots)
        self.slots, self.num_slots = slots, size
        return 0

    cdef int make_room(self, int64_t size) noexcept nogil:
        """Room for one more entry of ``size`` bytes; -1 when memory is short."""
        cdef void* more
        cdef int64_t room
        if self.num_entries == self.room_entries:
            room = max(1024, 2 * self.room_entries)
            more = realloc(self.entries, room * sizeof(Entry))
            if more == NULL:
                return -1
            self.entries, self.room_entries = <Entry*>more, room
        if self.num_keys + size > self.room_keys:
            room = max(1 << 14, 2 * self.room_keys, self.num_keys + size)
            more = realloc(self.keys, room)
            if more == NULL:
                return -1
            self.keys, self.room_keys = <uint8_t*>more, room
        return self.grow_slots() if 2 * self.num_entries > self.num_slots else 0

    cdef int add(self, const uint8_t* p, int64_t size, int64_t count) noexcept nogil:
        """Count a pre-token; -1 when memory is short."""
        cdef uint64_t h = hash_bytes(p, size)
        cdef int64_t at = h & <uint64_t>(self.num_slots - 1)
        cdef Entry* entry
        while self.slots[at]:
            entry = &self.entries[self.slots[at] - 1]
            if entry.hash == h and entry.size == size and memcmp(self.keys + entry.key, p, size) == 0:
                entry.count += count
                return 0
            at = (at + 1) & (self.num_slots - 1)
        if self.make_room(size) != 0:
            return -1
        at = h & <uint64_t>(self.num_slots - 1)  # the table may have grown
        while self.slots[at]:
            at = (at + 1) & (self.num_slots - 1)
        memcpy(self.keys + self.num_keys, p, size)
        self.entries[self.num_entries] = Entry(h, self.num_keys, size, count)
        self.num_keys += size
        self.num_entries += 1
        self.slots[at] = self.num_entries
        return 0

    def add_rows(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        const uint8_t[::1] classes,
    ):
        """Cut rows and count their pre-tokens; ``classes`` has one entry for every code point."""
        cdef int64_t r, i, end, stop
        cdef int failed = 0
        cdef const uint8_t* text = &buffer[0] if buffer.shape[0] else NULL
        check_rows(buffer.shape[0], starts, stops)
        if classes.shape[0] != 0x110000:
            raise ValueError(f"{classes.shape[0]} classes of code points")
        with nogil:
            for r in range(starts.shape[0]):
                i, stop = starts[r], stops[r]
                while i < stop and not failed:
                    end = cut(text, i, stop, &classes[0])
                    failed = self.add(text + i, end - i, 1)
                    i = end
        if failed:
            raise MemoryError

    def add_words(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
        """Count what stands between white space (9, 10, 13, 32) in rows."""
        cdef int64_t r, i, begin, stop
        cdef int failed = 0
        cdef const uint8_t* text = &buffer[0] if buffer.shape[0] else NULL
        check_rows(buffer.shape[0], starts, stops)
        with nogil:
            for r in range(starts.shape[0]):
                i, stop = starts[r], stops[r]
                while i < stop and not failed:
                    begin = i
                    while i < stop and not (text[i] == 32 or text[i] == 9 or text[i] == 10 or text[i] == 13):
                        i += 1
                    if i > begin:
                        failed = self.add(text + begin, i - begin, 1)
                    i += 1
        if failed:
            raise MemoryError

    def add_counts(
        self, const uint8_t[::1] keys, const int64_t[::1] offsets, const int64_t[::1] counts
    ):
        """Add what ``counted`` of another table returned."""
        cdef int64_t i, n = counts.shape[0]
        cdef int failed = 0
        cdef const uint8_t* first = &keys[0] if keys.shape[0] else NULL
        if offsets.shape[0] != n + 1:
            raise ValueError(f"{offsets.shape[0]} offsets for {n} counts")
        check_rows(keys.shape[0], offsets[:n], offsets[1:])
        with nogil:
            for i in range(n):
                failed = self.add(first + offsets[i], offsets[i + 1] - offsets[i], counts[i])
                if failed:
                    break
        if failed:
            raise MemoryError

    def counted(self):
        """(all pre-tokens one after the other, where each begins with the end of the last, counts)."""
        cdef int64_t i, n = self.num_entries
        keys = np.empty(self.num_keys, np.uint8)
        offsets = np.zeros(n + 1, np.int64)
        counts = np.empty(n, np.int64)
        cdef uint8_t[::1] out = keys
        cdef int64_t[::1] ends = offsets
        cdef int64_t[::1] numbers = counts
        if self.num_keys:
            memcpy(&out[0], self.keys, self.num_keys)
        for i in range(n):
            ends[i + 1] = self.entries[i].key + self.entries[i].size
            numbers[i] = self.entries[i].count
        return keys, offsets, counts
