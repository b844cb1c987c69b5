"""Cut words into the pieces of a WordPiece vocabulary: the longest piece that fits, again and again.

For words of ASCII alone, whose characters are bytes. A word that cannot be cut, or is too long, is the unknown piece.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.chars import check_rows

cdef uint64_t PRIME = 0x100000001B3
cdef uint64_t BEGIN = 0xCBF29CE484222325
cdef uint64_t INSIDE = 0x84222325CBF29CE4  # where the hash of a piece inside a word begins
cdef enum:
    LONGEST = 128  # bytes of a piece that is found


cdef struct Piece:
    uint64_t hash
    int64_t key
    uint32_t size
    uint32_t id


cdef class WordPieces:
    """The pieces that begin words and those that go on inside them."""

    cdef Piece* slots
    cdef uint8_t* keys
    cdef int64_t num_slots, longest, most_bytes
    cdef uint32_t unknown

    def __cinit__(
        self,
        const uint8_t[::1] keys,
        const int64_t[::1] offsets,
        const uint32_t[::1] ids,
        const uint8_t[::1] inside,
        uint32_t unknown,
        int64_t most_bytes,
    ):
        """Take pieces one after the other, without the mark of those inside words, which ``inside`` has instead."""
        cdef int64_t i, j, at, size, n = ids.shape[0]
        cdef uint64_t h
        if offsets.shape[0] != n + 1 or inside.shape[0] != n:
            raise ValueError(f"{offsets.shape[0]} offsets and {inside.shape[0]} marks for {n} pieces")
        check_rows(keys.shape[0], offsets[:n], offsets[1:])
        self.num_slots, self.unknown, self.most_bytes = 64, unknown, most_bytes
        while self.num_slots < 2 * n:
            self.num_slots *= 2
        self.slots = <Piece*>calloc(self.num_slots, sizeof(Piece))
        self.keys = <uint8_t*>malloc(max(keys.shape[0], 1))
        if self.slots == NULL or self.keys == NULL:
            raise MemoryError
        if keys.shape[0]:
            memcpy(self.keys, &keys[0], keys.shape[0])
        for i in range(n):
            size = offsets[i + 1] - offsets[i]
            if not 0 < size <= LONGEST:
                continue  # longer than any word that is cut here
            self.longest = max(self.longest, size)
            h = INSIDE if inside[i] else BEGIN
            for j in range(offsets[i], offsets[i + 1]):
                h = (h ^ keys[j]) * PRIME
            at = (h ^ (h >> 32)) & <uint64_t>(self.num_slots - 1)
            while self.slots[at].size:
                at = (at + 1) & (self.num_slots - 1)
            self.slots[at] = Piece(h, offsets[i], <uint32_t>size, ids[i])

    def __dealloc__(self):
        free(self.slots)
        free(self.keys)

    cdef int64_t find(self, const uint8_t* p, int64_t size, uint64_t h) noexcept nogil:
        """The id of a piece, or -1."""
        cdef int64_t at = (h ^ (h >> 32)) & <uint64_t>(self.num_slots - 1)
        while self.slots[at].size:
            if self.slots[at].hash == h and self.slots[at].size == size:
                if memcmp(self.keys + self.slots[at].key, p, size) == 0:
                    return self.slots[at].id
            at = (at + 1) & (self.num_slots - 1)
        return -1

    cdef int64_t cut(self, const uint8_t* p, int64_t size, uint32_t* out) noexcept nogil:
        """Write the ids of a word; returns how many."""
        cdef uint64_t hashes[LONGEST + 1]
        cdef int64_t begin = 0, length, most, found, total = 0
        if size > self.most_bytes:
            out[0] = self.unknown
            return 1
        while begin < size:
            hashes[0] = INSIDE if begin else BEGIN
            most = min(size - begin, self.longest)
            for length in range(most):
                hashes[length + 1] = (hashes[length] ^ p[begin + length]) * PRIME
            found, length = -1, most
            while length > 0:
                found = self.find(p + begin, length, hashes[length])
                if found >= 0:
                    break
                length -= 1
            if found < 0:
                out[0] = self.unknown
                return 1
            out[total] = <uint32_t>found
            total, begin = total + 1, begin + length
        return total

    def encode(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
        """The ids of words of ASCII and where those of each begin, with the total at the end."""
        cdef int64_t r, total = 0, n = starts.shape[0]
        flat = np.empty(check_rows(buffer.shape[0], starts, stops) + 1, np.uint32)
        offsets = np.zeros(n + 1, np.int64)
        cdef uint32_t[::1] out = flat
        cdef int64_t[::1] ends = offsets
        with nogil:
            for r in range(n):
                if stops[r] > starts[r]:
                    total += self.cut(&buffer[starts[r]], stops[r] - starts[r], &out[total])
                ends[r + 1] = total
        return flat[:total], offsets
