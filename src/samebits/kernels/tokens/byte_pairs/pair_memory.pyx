"""Encode with byte pairs: cut a text into pre-tokens, look each up, merge those that are new.

A memory has the ids of every pre-token that a thread has met, and all threads of a process share it: to look a pre-token up takes no
lock, and what one thread has merged the others need not merge again. Only a new one is put in under a lock. Nothing holds the GIL.

* An entry is written before its size, which makes it count.
* A table that is full is copied into one of twice the size. The old one stays, because others may be reading it; who does not find
  a new entry there looks into the new one before merging.
* What does not fit into an entry lies in chunks that never move.

A pre-token of up to 16 bytes is its own key, two numbers, and lies with up to three ids in one half of a cache line. The key
and the ids of a longer one lie in a chunk; beyond ``LONGEST`` bytes it is merged anew each time.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from samebits.kernels.tokens.byte_pairs.pair_merges cimport PairMerges
from samebits.kernels.tokens.byte_pairs.pair_table cimport (
    ELSEWHERE,
    IDS_IN_PLACE,
    IN_PLACE,
    Key,
    Slot,
    Table,
    home_of,
    ids_of,
    next_slot,
    seen_table,
    seen_tag,
    set_key,
    set_long_key,
    show_table,
    show_tag,
)
from samebits.kernels.tokens.byte_pairs.windows cimport (
    LONGEST,
    WINDOW,
    cuts_ahead,
    has_wide_cuts,
    make_key,
    next_cut,
)
from samebits.kernels.tokens.chars import check_rows

cdef extern from "pythread.h" nogil:
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    void PyThread_release_lock(PyThread_type_lock lock)

cdef extern from *:
    int __builtin_ctzll(unsigned long long bits) nogil
    int __builtin_popcountll(unsigned long long bits) nogil

cdef enum:
    FIRST_SLOTS = 1 << 15
    CHUNK_BYTES = 1 << 18
    AHEAD = 16  # pre-tokens between cutting one off and writing its ids
    RING = 32


cdef int64_t check_texts(
    int64_t room, const int64_t[::1] starts, const int64_t[::1] stops, const uint8_t[::1] classes
) except -1:
    """How many bytes the rows have in all."""
    cdef int64_t num_bytes = check_rows(room, starts, stops)
    if classes.shape[0] != 0x110000:
        raise ValueError(f"{classes.shape[0]} classes of code points")
    if num_bytes >= 0x7FFFFFFF:
        raise ValueError(f"{num_bytes} bytes at once")
    return num_bytes


@cython.final
cdef class PairMemory:
    """Pre-tokens and their ids, for all threads.

    Attributes:
        num_bytes: Memory that it takes.
    """

    def __cinit__(self, PairMerges merges not None, int most_digits=0, bint wide=True):
        """``most_digits`` of a pre-token are for ``cut_later``, 1 or 3; 0 stands for ``cut``. ``wide``: use AVX-512 where it is there."""
        if most_digits not in (0, 1, 3):
            raise ValueError(f"{most_digits} digits")
        self.merges, self.digits, self.wide = merges, most_digits, wide and has_wide_cuts()
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL or self.grow(FIRST_SLOTS) != 0:
            raise MemoryError

    def __dealloc__(self):
        cdef Chunk* chunk
        cdef int i
        for i in range(self.num_tables):
            free(self.tables[i].slots)
        while self.chunk != NULL:
            chunk, self.chunk = self.chunk, self.chunk.before
            free(chunk)
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    @property
    def num_bytes(self):
        cdef int64_t i, total = CHUNK_BYTES * self.num_chunks
        for i in range(self.num_tables):
            total += sizeof(Slot) * (self.tables[i].mask + 1)
        return total

    cdef int grow(self, int64_t size) noexcept nogil:
        """Go on with a table of this size; -1 when memory is short. Done by who holds the lock, or has the memory alone."""
        cdef Table* old = self.table
        cdef Table* new
        cdef Slot* slot
        cdef int64_t i
        if self.num_tables == MOST_TABLES:
            return -1
        new = &self.tables[self.num_tables]
        new.mask, new.slots = size - 1, <Slot*>calloc(size, sizeof(Slot))
        new.shift = 64 - __builtin_popcountll(new.mask)
        if new.slots == NULL:
            return -1
        for i in range(old.mask + 1 if old != NULL else 0):
            if old.slots[i].tag:
                slot = home_of(new, old.slots[i].first, old.slots[i].second)
                while slot.tag:
                    slot = next_slot(new, slot)
                slot[0] = old.slots[i]
        self.num_tables += 1
        show_table(&self.table, new)
        return 0

    cdef void* take_room(self, int64_t size) noexcept nogil:
        """Room in a chunk; NULL when memory is short."""
        cdef Chunk* chunk
        cdef uint8_t* found
        size = (size + 7) & ~<int64_t>7
        if self.chunk == NULL or size > self.room:
            chunk = <Chunk*>malloc(CHUNK_BYTES)
            if chunk == NULL:
                return NULL
            chunk.before = self.chunk
            self.chunk, self.room = chunk, CHUNK_BYTES - sizeof(Chunk)
            self.num_chunks += 1
        found = <uint8_t*>self.chunk + CHUNK_BYTES - self.room
        self.room -= size
        return found

    cdef Slot* find(self, Table* table, const uint8_t* p, const Key* key) noexcept nogil:
        """The entry of a pre-token in a table, or the free place where it would be."""
        cdef Slot* slot = home_of(table, key.first, key.second)
        cdef int64_t tag = seen_tag(&slot.tag)
        while tag:
            if slot.first == key.first and slot.second == key.second and tag & ~ELSEWHERE == key.size:
                if key.size <= IN_PLACE or memcmp(ids_of(slot) + slot.num_ids, p, key.size) == 0:
                    break
            slot = next_slot(table, slot)
            tag = seen_tag(&slot.tag)
        return slot

    cdef Slot* entry(self, Table* table, const uint8_t* p, const Key* key, int64_t id) noexcept nogil:
        """The entry of a pre-token, a new one is merged unless it has an ``id`` (not -1); NULL when memory is short."""
        cdef uint32_t ids[LONGEST]
        cdef int64_t num = 1
        cdef Slot* slot = self.find(table, p, key)
        if not seen_tag(&slot.tag) and table != seen_table(&self.table):
            table = seen_table(&self.table)
            slot = self.find(table, p, key)
        if seen_tag(&slot.tag):
            return slot
        if id >= 0:
            ids[0] = <uint32_t>id
        else:
            num = self.merges.merge(p, key.size, ids)
        if num < 0:
            return NULL
        PyThread_acquire_lock(self.lock, 1)
        if table != self.table or slot.tag:  # another thread was here meanwhile
            slot = self.find(self.table, p, key)
        if not slot.tag:
            slot = self.put(slot, p, key, ids, num)
        PyThread_release_lock(self.lock)
        return slot

    cdef Slot* put(self, Slot* slot, const uint8_t* p, const Key* key, const uint32_t* ids, int64_t num) noexcept nogil:
        """Write a new entry to its free place; NULL when memory is short."""
        cdef uint32_t* room
        cdef int64_t tag = key.size
        if 2 * self.num_used > self.table.mask:
            if self.grow(2 * (self.table.mask + 1)) != 0:
                return NULL
            slot = self.find(self.table, p, key)
        slot.first, slot.second, slot.num_ids = key.first, key.second, <uint16_t>num
        if key.size > IN_PLACE or num > IDS_IN_PLACE:
            room = <uint32_t*>self.take_room(num * sizeof(uint32_t) + key.size)
            if room == NULL:
                return NULL
            memcpy(room, ids, num * sizeof(uint32_t))
            memcpy(room + num, p, key.size)
            memcpy(&slot.ids[1], &room, sizeof(room))
            tag |= ELSEWHERE
        else:
            memcpy(slot.ids, ids, num * sizeof(uint32_t))
        self.num_used += 1
        show_tag(&slot.tag, <uint16_t>tag)
        return slot

    cdef int64_t emit_other(self, Table* table, const uint8_t* text, const Key* key, uint32_t* out) noexcept nogil:
        """The same for a pre-token that is not where its search begins, or whose ids are not."""
        cdef const Slot* slot
        if key.size > LONGEST:
            return self.merges.merge(text, key.size, out)
        slot = self.entry(table, text, key, -1)
        if slot == NULL:
            return -1
        memcpy(out, ids_of(slot), slot.num_ids * sizeof(uint32_t))
        return slot.num_ids

    cdef inline int64_t emit(self, Table* table, const uint8_t* text, const Key* key, uint32_t* out) noexcept nogil:
        """Write the ids of a pre-token (and up to two more, to be written over); returns how many, -1 when memory is short."""
        cdef const Slot* slot = key.home
        cdef int64_t tag = seen_tag(&slot.tag)
        if (slot.first ^ key.first) | (slot.second ^ key.second) | <uint64_t>(tag ^ key.size):
            return self.emit_other(table, text, key, out)
        memcpy(out, slot.ids, IDS_IN_PLACE * sizeof(uint32_t))
        return slot.num_ids

    cdef inline bint emit_next(
        self, Table* table, const uint8_t* text, const Key* key, int64_t* at, uint32_t* out, int64_t* total
    ) noexcept nogil:
        """Write the ids of the pre-token at a place behind those that are there; False when memory is short."""
        cdef int64_t num = self.emit(table, text + at[0], key, out + total[0])
        total[0] += num
        at[0] += key.size
        return num >= 0

    cdef int64_t encode_row(
        self, const uint8_t* text, int64_t i, int64_t stop, int64_t room, const uint8_t* classes, uint32_t* out
    ) noexcept nogil:
        """Write the ids of a text; returns how many, -1 when memory is short.

        Ids are written some pre-tokens behind the one that is cut off, so that entries have time to come from memory.
        """
        cdef Key keys[RING]
        cdef int64_t begin, end, total = 0, at = i
        cdef uint64_t cuts, head = 0, tail = 0
        cdef Table* table = seen_table(&self.table)
        while i < stop:
            begin = i
            cuts = cuts_ahead(text + i, self.digits, self.wide) if i + WINDOW <= stop else 0
            while True:
                end = begin + __builtin_ctzll(cuts) if cuts else next_cut(text, i, stop, self.digits, classes)
                make_key(&keys[head % RING], table, text, i, end, room)
                head, i = head + 1, end
                if head - tail > AHEAD:
                    if not self.emit_next(table, text, &keys[tail % RING], &at, out, &total):
                        return -1
                    tail += 1
                cuts &= cuts - 1
                if not cuts:
                    break
        while tail < head:
            if not self.emit_next(table, text, &keys[tail % RING], &at, out, &total):
                return -1
            tail += 1
        return total

    def know(self, const uint8_t[::1] keys, const int64_t[::1] offsets, const uint32_t[::1] ids):
        """Take pre-tokens that are one id each and are never merged; none is longer than ``LONGEST`` bytes."""
        cdef int64_t i, size, n = ids.shape[0]
        cdef Key key
        cdef Slot* slot
        if offsets.shape[0] != n + 1:
            raise ValueError(f"{offsets.shape[0]} offsets for {n} ids")
        check_rows(keys.shape[0], offsets[:n], offsets[1:])
        for i in range(n):
            size = offsets[i + 1] - offsets[i]
            if not 0 < size <= LONGEST:
                raise ValueError(f"pre-token {i} has {size} bytes")
            if size <= IN_PLACE:
                set_key(&key, self.table, &keys[offsets[i]], size, False)
            else:
                set_long_key(&key, self.table, &keys[offsets[i]], size)
            slot = self.entry(self.table, &keys[offsets[i]], &key, ids[i])
            if slot == NULL:
                raise MemoryError

    def encode(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        const uint8_t[::1] classes,
    ):
        """The ids of all rows and where those of each begin, with the total at the end; ``classes`` as for training."""
        import numpy as np  # not above: cells are encoded before it is there

        cdef int64_t r, num, total = 0, n = starts.shape[0], room = buffer.shape[0]
        cdef int64_t num_bytes = check_texts(room, starts, stops, classes)
        flat = np.empty(num_bytes + IDS_IN_PLACE, np.uint32)
        offsets = np.zeros(n + 1, np.int64)
        cdef uint32_t[::1] out = flat
        cdef int64_t[::1] ends = offsets
        cdef const uint8_t* text = &buffer[0] if room else NULL
        cdef bint failed = False
        with nogil:
            for r in range(n):
                num = self.encode_row(text, starts[r], stops[r], room, &classes[0], &out[total])
                if num < 0:
                    failed = True
                    break
                total += num
                ends[r + 1] = total
        if failed:
            raise MemoryError
        return flat[:total], offsets

    cdef int64_t fill_rows(
        self,
        const uint8_t* text,
        const int64_t* starts,
        const int64_t* stops,
        int64_t n,
        int64_t room,
        const uint8_t* classes,
        const uint16_t[::1] before,
        const uint16_t[::1] after,
        uint16_t* out,
        int64_t* sizes,
    ) noexcept nogil:
        """Do what ``encode_rows`` says; returns how many ids there are, -1 when memory is short.

        The ids of one row at a time are 32 bits wide, so that they stay in the nearest cache.
        """
        cdef int64_t r, k, num, longest = 0, total = 0
        cdef int64_t num_before = before.shape[0], num_after = after.shape[0]
        cdef uint32_t* row
        cdef uint16_t* place
        for r in range(n):
            longest = max(longest, stops[r] - starts[r])
        row = <uint32_t*>malloc((longest + IDS_IN_PLACE) * sizeof(uint32_t))
        if row == NULL:
            return -1
        for r in range(n):
            num = self.encode_row(text, starts[r], stops[r], room, classes, row)
            if num < 0:
                total = -1
                break
            place = out + total
            for k in range(num_before):
                place[k] = before[k]
            for k in range(num):
                place[num_before + k] = <uint16_t>row[k]
            for k in range(num_after):
                place[num_before + num + k] = after[k]
            sizes[r] = num_before + num + num_after
            total += sizes[r]
        free(row)
        return total

    def encode_rows(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        const uint8_t[::1] classes,
        const uint16_t[::1] before,
        const uint16_t[::1] after,
    ):
        """The ids of all rows in 16 bits, each row between the same other ids, and how many those of each row are.

        The caller knows that all of them fit.
        """
        import numpy as np

        cdef int64_t total = 0, n = starts.shape[0], room = buffer.shape[0]
        cdef int64_t num_bytes = check_texts(room, starts, stops, classes)
        flat = np.empty(num_bytes + (before.shape[0] + after.shape[0]) * n, np.uint16)
        lengths = np.empty(n, np.int64)
        cdef uint16_t[::1] out = flat
        cdef int64_t[::1] sizes = lengths
        if n:
            with nogil:
                total = self.fill_rows(
                    &buffer[0] if room else NULL, &starts[0], &stops[0], n, room, &classes[0],
                    before, after, &out[0] if out.shape[0] else NULL, &sizes[0],
                )
        if total < 0:
            raise MemoryError
        return flat[:total], lengths
