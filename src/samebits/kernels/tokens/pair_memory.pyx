"""Encode with byte pairs: cut a text into pre-tokens, look each up, merge those that are new.

A memory belongs to one thread and has the ids of every pre-token that it has met. Nothing is locked and nothing holds the GIL.

A pre-token of up to 16 bytes is its own key, two numbers, and lies with up to three ids in one half of a cache line. The key
and the ids of a longer one lie in pools; beyond ``LONGEST`` bytes it is merged anew each time.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.chars import check_rows
from samebits.kernels.tokens.cutting cimport cut, cut_later
from samebits.kernels.tokens.pair_merges cimport PairMerges

cdef extern from "ascii_cuts.h" nogil:
    uint64_t samebits_ascii_cuts(const uint8_t* text)
    uint64_t samebits_later_cuts(const uint8_t* text, int most_digits)
    int __builtin_ctzll(unsigned long long bits)
    void __builtin_prefetch(const void* place)

cdef uint64_t PRIME = 0x9E3779B97F4A7C15
cdef uint64_t NOT_ASCII = 0x8080808080808080
cdef enum:
    IN_PLACE = 16  # bytes of a key that needs no pool
    IDS_IN_PLACE = 3
    LONGEST = 1024
    WINDOW = 64  # bytes that are cut at once


cdef struct Slot:
    uint64_t first
    uint64_t second
    uint16_t size  # 0: free
    uint16_t num_ids
    uint32_t ids[IDS_IN_PLACE]  # the ids, or where they begin in the pool; [1] where a long key begins


cdef inline uint64_t mixed(uint64_t first, uint64_t second, uint64_t size) noexcept nogil:
    cdef uint64_t h = (first ^ (size << 56)) * PRIME
    h = (h ^ (h >> 32) ^ second) * PRIME
    return h ^ (h >> 29)


cdef uint64_t FIRST_BYTES[IN_PLACE + 1]  # masks of the first eight bytes of a key of each size
cdef uint64_t SECOND_BYTES[IN_PLACE + 1]  # and of the second eight
for _size in range(IN_PLACE + 1):
    FIRST_BYTES[_size] = (1 << 8 * min(_size, 8)) - 1
    SECOND_BYTES[_size] = (1 << 8 * max(_size - 8, 0)) - 1


cdef struct Key:
    uint64_t first
    uint64_t second
    uint64_t hash
    int64_t size


cdef inline void set_key(Key* key, const uint8_t* p, int64_t size, bint readable) noexcept nogil:
    """Make the key of a pre-token of up to 16 bytes; ``readable``: that many can be read at ``p``."""
    cdef uint64_t both[2]
    if readable:
        memcpy(both, p, IN_PLACE)
        both[0] &= FIRST_BYTES[size]
        both[1] &= SECOND_BYTES[size]
    else:
        both[0] = both[1] = 0
        memcpy(both, p, size)
    key.first, key.second, key.size = both[0], both[1], size
    key.hash = mixed(both[0], both[1], size)


cdef class PairMemory:
    """The pre-tokens of one thread and their ids.

    Attributes:
        num_bytes: Memory that it takes.
    """

    cdef PairMerges merges
    cdef int digits
    cdef Slot* slots
    cdef uint8_t* keys
    cdef uint32_t* ids
    cdef int64_t num_slots, num_used, num_keys, room_keys, num_ids, room_ids

    def __cinit__(self, PairMerges merges not None, int most_digits=0):
        """``most_digits`` of a pre-token are for ``cut_later``, 1 or 3; 0 stands for ``cut``."""
        if most_digits not in (0, 1, 3):
            raise ValueError(f"{most_digits} digits")
        self.merges, self.digits = merges, most_digits
        self.num_slots = 1 << 15
        self.slots = <Slot*>calloc(self.num_slots, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)
        free(self.keys)
        free(self.ids)

    @property
    def num_bytes(self):
        return sizeof(Slot) * self.num_slots + self.room_keys + 4 * self.room_ids

    cdef int grow(self) noexcept nogil:
        """Double the table; -1 when memory is short."""
        cdef int64_t i, at, size = 2 * self.num_slots
        cdef Slot* slots = <Slot*>calloc(size, sizeof(Slot))
        if slots == NULL:
            return -1
        for i in range(self.num_slots):
            if self.slots[i].size:
                at = mixed(self.slots[i].first, self.slots[i].second, self.slots[i].size) & <uint64_t>(size - 1)
                while slots[at].size:
                    at = (at + 1) & (size - 1)
                slots[at] = self.slots[i]
        free(self.slots)
        self.slots, self.num_slots = slots, size
        return 0

    cdef int make_room(self, int64_t size) noexcept nogil:
        """Room in the pools for a key of ``size`` bytes and its ids; -1 when memory is short."""
        cdef void* more
        cdef int64_t room
        if self.num_keys + size > self.room_keys:
            room = max(1 << 16, 2 * self.room_keys)
            more = realloc(self.keys, room)
            if more == NULL:
                return -1
            self.keys, self.room_keys = <uint8_t*>more, room
        if self.num_ids + size > self.room_ids:
            room = max(1 << 16, 2 * self.room_ids)
            more = realloc(self.ids, room * sizeof(uint32_t))
            if more == NULL:
                return -1
            self.ids, self.room_ids = <uint32_t*>more, room
        return 0

    cdef Slot* learn(
        self, const uint8_t* p, int64_t size, uint64_t first, uint64_t second, int64_t id
    ) noexcept nogil:
        """Make the entry of a pre-token, which is merged if its ``id`` is -1; NULL when memory is short."""
        cdef int64_t at, num
        cdef Slot* slot
        if 2 * self.num_used >= self.num_slots and self.grow() != 0:
            return NULL
        if self.make_room(size) != 0:
            return NULL
        at = mixed(first, second, size) & <uint64_t>(self.num_slots - 1)
        while self.slots[at].size:
            at = (at + 1) & (self.num_slots - 1)
        if id >= 0:
            num, self.ids[self.num_ids] = 1, <uint32_t>id
        else:
            num = self.merges.merge(p, size, self.ids + self.num_ids)
        if num < 0:
            return NULL
        slot = &self.slots[at]
        slot.first, slot.second, slot.size, slot.num_ids = first, second, <uint16_t>size, <uint16_t>num
        if size > IN_PLACE:
            memcpy(self.keys + self.num_keys, p, size)
            slot.ids[1] = <uint32_t>self.num_keys
            self.num_keys += size
        if size > IN_PLACE or num > IDS_IN_PLACE:
            slot.ids[0] = <uint32_t>self.num_ids
            self.num_ids += num
        else:
            memcpy(slot.ids, self.ids + self.num_ids, num * sizeof(uint32_t))
        self.num_used += 1
        return slot

    cdef inline Slot* short_one(self, const uint8_t* p, const Key* key, int64_t id) noexcept nogil:
        """The entry of a pre-token of up to 16 bytes; ``id`` is for a new one, as for ``learn``."""
        cdef int64_t at = key.hash & <uint64_t>(self.num_slots - 1)
        cdef Slot* slot = &self.slots[at]
        while slot.size:
            if slot.first == key.first and slot.second == key.second and slot.size == key.size:
                return slot
            at = (at + 1) & (self.num_slots - 1)
            slot = &self.slots[at]
        return self.learn(p, key.size, key.first, key.second, id)

    cdef Slot* long_one(self, const uint8_t* p, int64_t size, int64_t id) noexcept nogil:
        """The entry of a longer pre-token; its hash stands in the place of the key."""
        cdef uint64_t first = 0, second = 0, piece
        cdef int64_t i = 0, at
        cdef Slot* slot
        while i + 8 <= size:
            memcpy(&piece, p + i, 8)
            first = mixed(piece, first, 0)
            i += 8
        memcpy(&second, p + size - 8, 8)
        at = mixed(first, second, size) & <uint64_t>(self.num_slots - 1)
        slot = &self.slots[at]
        while slot.size:
            if slot.first == first and slot.second == second and slot.size == size:
                if memcmp(self.keys + slot.ids[1], p, size) == 0:
                    return slot
            at = (at + 1) & (self.num_slots - 1)
            slot = &self.slots[at]
        return self.learn(p, size, first, second, id)

    cdef inline int64_t emit(self, const uint8_t* text, const Key* key, uint32_t* out) noexcept nogil:
        """Write the ids of a pre-token (and up to two more, to be written over); returns how many, -1 when memory is short."""
        cdef Slot* slot
        if key.size > LONGEST:
            return self.merges.merge(text, key.size, out)
        slot = self.short_one(text, key, -1) if key.size <= IN_PLACE else self.long_one(text, key.size, -1)
        if slot == NULL:
            return -1
        if slot.num_ids <= IDS_IN_PLACE and key.size <= IN_PLACE:
            memcpy(out, slot.ids, IDS_IN_PLACE * sizeof(uint32_t))
        else:
            memcpy(out, self.ids + slot.ids[0], slot.num_ids * sizeof(uint32_t))
        return slot.num_ids

    cdef inline int64_t fill_keys(
        self, const uint8_t* text, int64_t i, int64_t stop, int64_t room, const uint8_t* classes, Key* keys
    ) noexcept nogil:
        """Cut off the next pre-tokens, at most ``WINDOW``; returns how many. Their entries are on their way from memory then."""
        cdef uint64_t cuts = 0, eight
        cdef int64_t num = 0, begin = i, end
        if i + WINDOW <= stop:
            memcpy(&eight, text + i, 8)
            if not eight & NOT_ASCII:
                cuts = samebits_later_cuts(text + i, self.digits) if self.digits else samebits_ascii_cuts(text + i)
                cuts &= ~<uint64_t>1
        while True:
            if cuts:
                end = i + __builtin_ctzll(cuts)
            elif self.digits:
                end = cut_later(text, i, stop, classes, self.digits)
            else:
                end = cut(text, i, stop, classes)
            if end - begin <= IN_PLACE:
                set_key(&keys[num], text + begin, end - begin, begin + IN_PLACE <= room)
                __builtin_prefetch(&self.slots[keys[num].hash & <uint64_t>(self.num_slots - 1)])
            else:
                keys[num].size = end - begin
            num, begin = num + 1, end
            cuts &= cuts - 1
            if not cuts:
                return num

    cdef int64_t encode_row(
        self, const uint8_t* text, int64_t i, int64_t stop, int64_t room, const uint8_t* classes, uint32_t* out
    ) noexcept nogil:
        """Write the ids of a text; returns how many, -1 when memory is short."""
        cdef Key keys[WINDOW]
        cdef int64_t k, n, num, total = 0
        while i < stop:
            n = self.fill_keys(text, i, stop, room, classes, keys)
            for k in range(n):
                num = self.emit(text + i, &keys[k], out + total)
                if num < 0:
                    return -1
                total, i = total + num, i + keys[k].size
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
                set_key(&key, &keys[offsets[i]], size, False)
                slot = self.short_one(&keys[offsets[i]], &key, ids[i])
            else:
                slot = self.long_one(&keys[offsets[i]], size, ids[i])
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
        cdef int64_t r, num, total = 0, n = starts.shape[0], room = buffer.shape[0]
        cdef int64_t num_bytes = check_rows(room, starts, stops)
        if classes.shape[0] != 0x110000:
            raise ValueError(f"{classes.shape[0]} classes of code points")
        if num_bytes >= 0x7FFFFFFF:
            raise ValueError(f"{num_bytes} bytes at once")
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
