"""The merges of a byte-level tokenizer, and what they make of the bytes of one pre-token.

Merging takes the pair with the lowest rank, of equal ones the leftmost, until none is left: by looking through all pairs
while there are few, else with a heap. Most of the time of it is waiting for the table of pairs, so an entry is 8 bytes: both ids and
the rank.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

cdef uint64_t PRIME = 0x9E3779B97F4A7C15
cdef uint64_t FREE = 0xFFFFFFFFFFFFFFFF
cdef uint32_t NO_PAIR = 0xFFFFFFFF
cdef enum:
    FEW = 48  # symbols that are merged without a heap
    ID_BITS = 21
    RANK_BITS = 22


cdef inline void push(uint64_t* heap, int64_t* size, uint64_t value) noexcept nogil:
    """Every merge makes one symbol of two and at most two pairs, so three times the bytes are room enough."""
    cdef int64_t at = size[0], up
    size[0] += 1
    while at:
        up = (at - 1) >> 1
        if heap[up] <= value:
            break
        heap[at] = heap[up]
        at = up
    heap[at] = value


cdef inline uint64_t pop(uint64_t* heap, int64_t* size) noexcept nogil:
    cdef uint64_t top = heap[0], value
    cdef int64_t at = 0, down, n = size[0] - 1
    size[0] = n
    value = heap[n]
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        if down + 1 < n and heap[down + 1] < heap[down]:
            down += 1
        if heap[down] >= value:
            break
        heap[at] = heap[down]
        at = down
    heap[at] = value
    return top


cdef class PairMerges:
    """Pairs of ids in the order of their ranks, what each becomes, and the ids of single bytes; never changed, so threads share it."""

    def __cinit__(
        self,
        const uint32_t[::1] left,
        const uint32_t[::1] right,
        const uint32_t[::1] merged,
        const uint32_t[::1] byte_ids,
    ):
        cdef int64_t i, at, n = left.shape[0]
        cdef uint64_t pair
        cdef uint32_t largest = 0
        if right.shape[0] != n or merged.shape[0] != n or byte_ids.shape[0] != 256:
            raise ValueError(f"{n} pairs, {right.shape[0]} and {merged.shape[0]}, {byte_ids.shape[0]} bytes")
        self.shift = 60
        while 1 << (64 - self.shift) < 2 * n:
            self.shift -= 1
        self.mask = (1 << (64 - self.shift)) - 1
        self.table = <uint64_t*>malloc((self.mask + 1) * sizeof(uint64_t))
        self.merged = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        if self.table == NULL or self.merged == NULL:
            raise MemoryError
        with nogil:
            for i in range(n):
                largest = max(largest, left[i], right[i], merged[i])
                self.merged[i] = merged[i]
            for i in range(256):
                self.bytes_to_ids[i] = byte_ids[i]
                largest = max(largest, byte_ids[i])
            for i in range(self.mask + 1):
                self.table[i] = FREE
        if largest + <uint64_t>1 >= 1 << ID_BITS or n >= 1 << RANK_BITS:
            raise ValueError(f"{n} pairs of ids up to {largest}: more than the kernel has bits for")
        with nogil:
            for i in range(n):
                pair = (<uint64_t>left[i] << ID_BITS) | right[i]
                at = <int64_t>(pair * PRIME >> self.shift)
                while self.table[at] != FREE and self.table[at] >> RANK_BITS != pair:
                    at = (at + 1) & self.mask
                self.table[at] = (pair << RANK_BITS) | <uint64_t>i  # of two equal pairs the later one counts

    def __dealloc__(self):
        free(self.table)
        free(self.merged)

    cdef inline uint32_t look_up(self, uint32_t left, uint32_t right) noexcept nogil:
        """Rank of a pair; ``NO_PAIR`` when it is not merged."""
        cdef uint64_t pair = (<uint64_t>left << ID_BITS) | right
        cdef int64_t at = <int64_t>(pair * PRIME >> self.shift)
        while self.table[at] >> RANK_BITS != pair:
            if self.table[at] == FREE:
                return NO_PAIR
            at = (at + 1) & self.mask
        return <uint32_t>(self.table[at] & ((1 << RANK_BITS) - 1))

    cdef int64_t merge_few(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil:
        """Ids of up to ``FEW`` bytes; returns how many."""
        cdef uint32_t found[FEW]
        cdef uint32_t best
        cdef int64_t i, at
        for i in range(size):
            out[i] = self.bytes_to_ids[text[i]]
        for i in range(size - 1):
            found[i] = self.look_up(out[i], out[i + 1])
        while size > 1:
            best, at = found[0], 0
            for i in range(1, size - 1):
                if found[i] < best:
                    best, at = found[i], i
            if best == NO_PAIR:
                break
            out[at] = self.merged[best]
            size -= 1
            for i in range(at + 1, size):
                out[i] = out[i + 1]
            for i in range(at, size - 1):
                found[i] = found[i + 1]
            if at < size - 1:
                found[at] = self.look_up(out[at], out[at + 1])
            if at > 0:
                found[at - 1] = self.look_up(out[at - 1], out[at])
        return size

    cdef int64_t merge_many(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil:
        """Ids of any number of bytes, fewer than 2**31; -1 when memory is short."""
        cdef uint64_t* heap = <uint64_t*>malloc(3 * size * sizeof(uint64_t))
        cdef int32_t* after = <int32_t*>malloc(size * sizeof(int32_t))
        cdef int32_t* before = <int32_t*>malloc(size * sizeof(int32_t))
        cdef int64_t i, j, num_heap = 0, total = -1
        cdef uint64_t top
        cdef uint32_t found
        if heap != NULL and after != NULL and before != NULL:
            for i in range(size):
                out[i], before[i], after[i] = self.bytes_to_ids[text[i]], <int32_t>(i - 1), <int32_t>(i + 1)
            for i in range(size - 1):
                found = self.look_up(out[i], out[i + 1])
                if found != NO_PAIR:
                    push(heap, &num_heap, (<uint64_t>found << 32) | <uint64_t>i)
            while num_heap:
                top = pop(heap, &num_heap)
                i = <uint32_t>top
                j = after[i]
                if j < 0 or j >= size:
                    continue  # merged into its left neighbour, or the last one by now
                found = self.look_up(out[i], out[j])
                if found == NO_PAIR or found != top >> 32:
                    continue  # another pair by now
                out[i] = self.merged[found]
                after[i], after[j] = after[j], -1
                if after[i] < size:
                    before[after[i]] = <int32_t>i
                    found = self.look_up(out[i], out[after[i]])
                    if found != NO_PAIR:
                        push(heap, &num_heap, (<uint64_t>found << 32) | <uint64_t>i)
                if before[i] >= 0:
                    found = self.look_up(out[before[i]], out[i])
                    if found != NO_PAIR:
                        push(heap, &num_heap, (<uint64_t>found << 32) | <uint64_t>before[i])
            i, total = 0, 0
            while i < size:
                out[total] = out[i]
                total, i = total + 1, after[i]
        free(heap)
        free(after)
        free(before)
        return total

    cdef int64_t merge(self, const uint8_t* text, int64_t size, uint32_t* out) noexcept nogil:
        """Write the ids of a pre-token, at most one a byte; returns how many, -1 when memory is short."""
        return self.merge_few(text, size, out) if size <= FEW else self.merge_many(text, size, out)
