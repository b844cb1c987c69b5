"""Two growable tables without Python objects: counts by integer key, and numbers for strings of ids.

Inlined into the kernels that use them. A function that can run out of memory returns -1; the caller raises.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

cdef enum:
    MAX_RUNS = 1 << 21  # a run's number shares a signed 64-bit key with two 21-bit ids


cdef struct Tally:
    # Open addressing, power-of-two size, key + 1 so that 0 means empty.
    uint64_t* keys
    int64_t* counts
    uint64_t mask
    uint64_t used


cdef struct Runs:
    # Distinct strings of ids: run r is chars[offsets[r]:offsets[r + 1]].
    uint32_t* chars
    int64_t* offsets
    int64_t num_chars
    int64_t num_runs
    int64_t cap_chars
    int64_t cap_runs
    uint32_t* slots
    uint64_t mask


cdef inline uint64_t spread(uint64_t key) noexcept nogil:
    key *= <uint64_t>0x9E3779B97F4A7C15
    return key ^ (key >> 29)


cdef inline int tally_open(Tally* tally, uint64_t size) noexcept nogil:
    tally.keys = <uint64_t*>calloc(size, sizeof(uint64_t))
    tally.counts = <int64_t*>calloc(size, sizeof(int64_t))
    tally.mask = size - 1
    tally.used = 0
    return 0 if tally.keys != NULL and tally.counts != NULL else -1


cdef inline void tally_close(Tally* tally) noexcept nogil:
    free(tally.keys)
    free(tally.counts)


cdef inline int tally_grow(Tally* tally) noexcept nogil:
    cdef Tally bigger
    cdef uint64_t i, slot
    if tally_open(&bigger, (tally.mask + 1) * 2) != 0:
        tally_close(&bigger)
        return -1
    for i in range(tally.mask + 1):
        if tally.keys[i] != 0:
            slot = spread(tally.keys[i]) & bigger.mask
            while bigger.keys[slot] != 0:
                slot = (slot + 1) & bigger.mask
            bigger.keys[slot] = tally.keys[i]
            bigger.counts[slot] = tally.counts[i]
    bigger.used = tally.used
    tally_close(tally)
    tally[0] = bigger
    return 0


cdef inline int tally_add(Tally* tally, uint64_t key, int64_t count) noexcept nogil:
    cdef uint64_t wanted = key + 1
    cdef uint64_t slot = spread(wanted) & tally.mask
    while tally.keys[slot] != wanted:
        if tally.keys[slot] == 0:
            if tally.used * 2 > tally.mask:
                if tally_grow(tally) != 0:
                    return -1
                return tally_add(tally, key, count)
            tally.keys[slot] = wanted
            tally.used += 1
            break
        slot = (slot + 1) & tally.mask
    tally.counts[slot] += count
    return 0


cdef inline int runs_open(Runs* runs) noexcept nogil:
    runs.cap_chars = 1024
    runs.cap_runs = 256
    runs.num_chars = runs.num_runs = 0
    runs.mask = 1023
    runs.chars = <uint32_t*>malloc(runs.cap_chars * sizeof(uint32_t))
    runs.offsets = <int64_t*>malloc((runs.cap_runs + 1) * sizeof(int64_t))
    runs.slots = <uint32_t*>calloc(runs.mask + 1, sizeof(uint32_t))
    if runs.chars == NULL or runs.offsets == NULL or runs.slots == NULL:
        return -1
    runs.offsets[0] = 0
    return 0


cdef inline void runs_close(Runs* runs) noexcept nogil:
    free(runs.chars)
    free(runs.offsets)
    free(runs.slots)


cdef inline uint64_t run_hash(const uint32_t* chars, int64_t length) noexcept nogil:
    cdef uint64_t h = <uint64_t>length
    cdef int64_t i
    for i in range(length):
        h = spread(h + chars[i] + 1)
    return h


cdef inline int runs_reserve(Runs* runs, int64_t length) noexcept nogil:
    """Make room for one more run of this length; doubling keeps appends linear."""
    cdef void* block
    cdef int64_t r
    cdef uint64_t slot
    if runs.num_chars + length > runs.cap_chars:
        runs.cap_chars = (runs.num_chars + length) * 2
        block = realloc(runs.chars, runs.cap_chars * sizeof(uint32_t))
        if block == NULL:
            return -1
        runs.chars = <uint32_t*>block
    if runs.num_runs + 1 > runs.cap_runs:
        runs.cap_runs *= 2
        block = realloc(runs.offsets, (runs.cap_runs + 1) * sizeof(int64_t))
        if block == NULL:
            return -1
        runs.offsets = <int64_t*>block
    if <uint64_t>runs.num_runs * 2 > runs.mask:
        free(runs.slots)
        runs.mask = runs.mask * 2 + 1
        runs.slots = <uint32_t*>calloc(runs.mask + 1, sizeof(uint32_t))
        if runs.slots == NULL:
            return -1
        for r in range(runs.num_runs):
            slot = run_hash(runs.chars + runs.offsets[r], runs.offsets[r + 1] - runs.offsets[r]) & runs.mask
            while runs.slots[slot] != 0:
                slot = (slot + 1) & runs.mask
            runs.slots[slot] = <uint32_t>(r + 1)
    return 0


cdef inline int64_t run_id(Runs* runs, const uint32_t* chars, int64_t length) noexcept nogil:
    """Number of this run, in order of first sight; -1 when memory or numbers are used up."""
    cdef uint64_t slot
    cdef int64_t r
    if runs_reserve(runs, length) != 0 or runs.num_runs >= MAX_RUNS - 1:
        return -1
    slot = run_hash(chars, length) & runs.mask
    while runs.slots[slot] != 0:
        r = runs.slots[slot] - 1
        if runs.offsets[r + 1] - runs.offsets[r] == length:
            if memcmp(runs.chars + runs.offsets[r], chars, length * sizeof(uint32_t)) == 0:
                return r
        slot = (slot + 1) & runs.mask
    r = runs.num_runs
    runs.slots[slot] = <uint32_t>(r + 1)
    memcpy(runs.chars + runs.num_chars, chars, length * sizeof(uint32_t))
    runs.num_chars += length
    runs.num_runs += 1
    runs.offsets[r + 1] = runs.num_chars
    return r
