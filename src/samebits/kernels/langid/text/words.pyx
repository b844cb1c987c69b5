"""Words numbered in order of first occurrence.

Words of at most 8 bytes are their own 64-bit key (UTF-8 words hold no zero byte); longer ones are hashed and compared
byte by byte. Callers pass words in buffers with ``SLACK`` readable bytes behind them.

``Vocabulary`` is the Python face: shard vocabularies added in shard order give every word the number it would have in
one sequential pass, because shards are consecutive and each is itself in first-seen order.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef fused index:
    const uint16_t[::1]
    const uint32_t[::1]

cdef bint need(Bytes* b, int64_t more) noexcept nogil:
    """Make room for ``more`` bytes behind b.size; False without memory."""
    cdef int64_t room
    cdef uint8_t* data
    if b.size + more <= b.room:
        return True
    room = max(2 * b.room, b.size + more, 4096)
    data = <uint8_t*>realloc(b.data, room)
    if data == NULL:
        return False
    b.data = data
    b.room = room
    return True


cdef bint start_table(WordTable* t, int64_t num_slots) noexcept nogil:
    """Empty table with num_slots (a power of two)."""
    memset(t, 0, sizeof(t[0]))
    t.mask = num_slots - 1
    t.slots = <Slot*>calloc(num_slots, sizeof(Slot))
    return t.slots != NULL


cdef void free_table(WordTable* t) noexcept nogil:
    """Give all memory back."""
    free(t.slots)
    free(t.words.data)
    free(t.stops.data)
    memset(t, 0, sizeof(t[0]))


cdef bint grow(WordTable* t) noexcept nogil:
    cdef uint64_t num_slots = 2 * (t.mask + 1), mask = num_slots - 1, j, k
    cdef Slot* slots = <Slot*>calloc(num_slots, sizeof(Slot))
    if slots == NULL:
        return False
    for j in range(t.mask + 1):
        if t.slots[j].word:
            k = place_of(t.slots[j].key) & mask
            while slots[k].word:
                k = (k + 1) & mask
            slots[k] = t.slots[j]
    free(t.slots)
    t.slots = slots
    t.mask = mask
    return True


cdef int64_t find_word(const WordTable* t, const uint8_t* p, int64_t n) noexcept nogil:
    """The number of a word of n > 0 bytes, or -1."""
    cdef uint64_t key = key_of(p, n)
    return <int64_t>slot_of(t, key, place_of(key), p, n).word - 1


cdef int64_t add_word(WordTable* t, const uint8_t* p, int64_t n) noexcept nogil:
    """The number of a word of n > 0 bytes, a new one if need be; -1 without memory."""
    cdef uint64_t key = key_of(p, n)
    return add_keyed(t, key, place_of(key), p, n)


cdef int64_t insert_word(WordTable* t, Slot* slot, uint64_t key, const uint8_t* p, int64_t n) noexcept nogil:
    """Number a new word that belongs in this free slot; -1 without memory."""
    if not need(&t.words, n + SLACK) or not need(&t.stops, 8):
        return -1
    memcpy(t.words.data + t.words.size, p, n)
    t.words.size += n
    (<int64_t*>(t.stops.data + t.stops.size))[0] = t.words.size
    t.stops.size += 8
    t.num_words += 1
    slot.key = key
    slot.length = <uint32_t>n
    slot.word = <uint32_t>t.num_words
    if <uint64_t>t.num_words * 2 > t.mask and not grow(t):
        return -1
    return t.num_words - 1


cdef void hash_row(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil:
    """A row's identity: two independent folded multiplications, 128 bits."""
    cdef uint64_t h = K0 ^ <uint64_t>n, g = K3 + <uint64_t>n, x, y
    cdef int64_t i = 0
    while i + 16 <= n:
        memcpy(&x, p + i, 8)
        memcpy(&y, p + i + 8, 8)
        h = fold(h ^ x, K1 ^ y)
        g = fold(g ^ y, K2 ^ x) + x
        i += 16
    x = 0
    y = 0
    memcpy(&x, p + i, min(n - i, 8))
    if n - i > 8:
        memcpy(&y, p + i + 8, n - i - 8)
    out[0] = fold(h ^ x, K1 ^ y) ^ h
    out[1] = (fold(g ^ y, K2 ^ x) + x) ^ g


cdef object array_of(const Bytes* b, object dtype):
    """The bytes as a NumPy array of its own."""
    return np.frombuffer(PyBytes_FromStringAndSize(<const char*>b.data, b.size), dtype)


cdef class _Owner:
    """Memory of malloc's that an array looks at; freed with the last array."""

    cdef uint8_t* data
    cdef int64_t size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.size, 0, flags)

    def __dealloc__(self):
        free(self.data)


cdef object take_array(Bytes* b, object dtype):
    """The bytes as a NumPy array, not copied: the array owns them from now on, and b is empty."""
    cdef _Owner owner
    cdef uint8_t* fitted
    if b.size == 0:
        return np.empty(0, dtype)
    fitted = <uint8_t*>realloc(b.data, b.size)
    owner = _Owner()
    owner.data = fitted if fitted != NULL else b.data
    owner.size = b.size
    memset(b, 0, sizeof(b[0]))
    return np.frombuffer(owner, dtype)


def renumber(const uint32_t[::1] numbers, index tokens, uint32_t[::1] out):
    """Write ``numbers[tokens]`` to the start of ``out``, without the GIL."""
    cdef int64_t i, n = tokens.shape[0]
    if out.shape[0] < n:
        raise ValueError(f"room for {out.shape[0]} of {n} numbers")
    with nogil:
        for i in range(n):
            out[i] = numbers[tokens[i]]


cdef enum:
    BATCH = 32  # looked up together: enough to hide the way to memory, few enough for the first-level cache


cdef inline const uint8_t* near(const uint8_t* p, int64_t n, int64_t left, uint8_t* tail) noexcept nogil:
    # A word too near the end of its buffer to load 8 bytes from is copied first.
    if left >= SLACK:
        return p
    memcpy(tail, p, n)
    return tail


def partitions_of(const uint8_t[::1] buffer, const int64_t[::1] stops, int64_t parts):
    """The partition (uint16, below ``parts``) of each string ``buffer[stops[i-1]:stops[i]]``, by its bytes alone; none is empty."""
    cdef int64_t i, start = 0, n = stops.shape[0], size = buffer.shape[0]
    cdef uint8_t tail[2 * SLACK]
    cdef uint64_t key
    found = np.empty(n, np.uint16)
    cdef uint16_t[::1] out = found
    with nogil:
        for i in range(n):
            key = key_of(near(&buffer[start], stops[i] - start, size - start, tail), stops[i] - start)
            out[i] = <uint16_t>((place_of(key) >> 32) * <uint64_t>parts >> 32)
            start = stops[i]
    return found


def copy_ranges(const uint8_t[::1] data, const int64_t[::1] stops, const int64_t[::1] chosen, int64_t width):
    """Things ``stops[i-1]:stops[i]`` of ``data``, each ``width`` bytes, for every chosen i: (their bytes, how many each)."""
    cdef int64_t i, k, start, total = 0, at = 0, n = chosen.shape[0]
    sizes = np.empty(n, np.int64)
    cdef int64_t[::1] size_view = sizes
    with nogil:
        for i in range(n):
            k = chosen[i]
            size_view[i] = stops[k] - (stops[k - 1] if k else 0)
            total += size_view[i]
    if n and stops[stops.shape[0] - 1] * width > data.shape[0]:
        raise ValueError(f"ranges up to {stops[stops.shape[0] - 1] * width} of {data.shape[0]} bytes")
    found = np.empty(total * width, np.uint8)
    cdef uint8_t[::1] out = found
    with nogil:
        for i in range(n):
            if size_view[i]:
                start = (stops[chosen[i]] - size_view[i]) * width
                memcpy(&out[at], &data[start], size_view[i] * width)
                at += size_view[i] * width
    return found, sizes


cdef class Vocabulary:
    """Byte strings numbered in order of first occurrence."""

    cdef WordTable table

    def __cinit__(self):
        if not start_table(&self.table, 1 << 12):
            raise MemoryError

    def __dealloc__(self):
        free_table(&self.table)

    def __len__(self):
        return self.table.num_words

    def add(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
        """Numbers (uint32) of ``buffer[starts[i]:stops[i]]``, new ones given in order; the empty string is refused."""
        return self._look_up(buffer, starts, stops, True)

    def find(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops):
        """The same without adding; 0xFFFFFFFF for a string that is not known."""
        return self._look_up(buffer, starts, stops, False)

    cdef object _look_up(self, const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, bint add):
        cdef int64_t i, number = 0, n = starts.shape[0], size = buffer.shape[0], first = 0, last, length, k
        cdef uint8_t tail[2 * SLACK]
        cdef uint64_t keys[BATCH]
        cdef uint64_t places[BATCH]
        cdef const uint8_t* p
        numbers = np.empty(n, np.uint32)
        cdef uint32_t[::1] out = numbers
        with nogil:
            while first < n:
                last = min(first + BATCH, n)
                for i in range(first, last):  # ask for the memory of a whole batch before the first answer is needed
                    length = stops[i] - starts[i]
                    if length <= 0:
                        number = -2
                        break
                    k = i - first
                    keys[k] = key_of(near(&buffer[starts[i]], length, size - starts[i], tail), length)
                    places[k] = place_of(keys[k])
                    prefetch(&self.table.slots[places[k] & self.table.mask])
                if number == -2:
                    break
                for i in range(first, last):
                    length = stops[i] - starts[i]
                    k = i - first
                    p = near(&buffer[starts[i]], length, size - starts[i], tail)
                    if add:
                        number = add_keyed(&self.table, keys[k], places[k], p, length)
                    else:
                        number = <int64_t>slot_of(&self.table, keys[k], places[k], p, length).word - 1
                    if number < 0 and add:
                        break
                    out[i] = <uint32_t>number
                if number < 0 and add:
                    break
                first = last
        if number == -2:
            raise ValueError("the empty string has no number")
        if number < 0 and add and n:
            raise MemoryError
        return numbers

    def export(self):
        """All strings in order: (bytes as uint8, stops as int64)."""
        return array_of(&self.table.words, np.uint8), array_of(&self.table.stops, np.int64)
