"""Each language's features with its counts of them, and what it can lose when a row's own counts are taken out.

A row of some label holds features of that label only, so they are looked up among those: a small table, made anew for each label, that
stays in the cache where one of all languages would not.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

cimport cython
import numpy as np

from samebits.kernels.langid.features cimport NUM_GROUPS, ilog2, mix
from samebits.kernels.langid.score cimport VALUE_SHIFT, Scorer, feature_of, group_in


@cython.final
cdef class OwnCounts:
    """``counts`` are of the scorer's entries; ``constants[g]`` is (1 / alpha, weight) of group g. Threads may share one."""

    def __cinit__(self, Scorer scorer, counts, constants):
        cdef int64_t f, e, at, start = 0
        cdef int64_t[::1] next_at
        cdef uint64_t found, mixed
        self.scorer, self.given = scorer, (scorer, counts, constants)
        self.counts, self.constants = counts, constants
        numbers = np.bincount(np.asarray(scorer.languages), minlength=scorer.num_languages)
        self.starts = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64)
        self.mixed, self.found = np.empty(len(counts), np.uint64), np.empty(len(counts), np.uint64)
        self.tags = np.empty(len(counts), np.uint16)
        next_at = np.asarray(self.starts).copy()
        with nogil:
            for f in range(scorer.keys.shape[0]):
                found, mixed = scorer.found_of(f), mix(scorer.keys[f])
                for e in range(start, scorer.stops[f]):
                    at = next_at[scorer.languages[e]]
                    next_at[scorer.languages[e]] = at + 1
                    self.mixed[at], self.found[at] = mixed, found
                    self.tags[at] = <uint16_t>(
                        group_in(found) * TAGS + (min(self.counts[e], <uint32_t>COUNTS - 1) << 1)
                        + (scorer.stops[f] - start == 1)
                    )
                start = scorer.stops[f]
        floors = np.asarray(scorer.floors)
        self.spread = np.ptp(floors, axis=1).astype(np.int64) if scorer.num_languages else np.zeros(NUM_GROUPS, np.int64)
        self.values = np.zeros(NUM_GROUPS * COUNTS, np.int32)
        self.losses = np.zeros(NUM_GROUPS * TAGS * CLASSES, np.int16)
        self.fill_losses()

    def __reduce__(self):
        return OwnCounts, self.given

    cdef int32_t computed(self, int g, int64_t count) noexcept nogil:
        return <int32_t>((self.constants[g, 1] * ilog2(<uint64_t>(self.constants[g, 0] * count + 1))) >> VALUE_SHIFT)

    cdef void fill_losses(self) noexcept nogil:
        # A feature that only the row has is skipped in all languages: the label may then lose the floors' differences, too.
        cdef int64_t count, most, loss
        cdef int g, k, alone
        for g in range(NUM_GROUPS):
            for count in range(COUNTS):
                self.values[g * COUNTS + count] = self.computed(g, count)
            for count in range(1, COUNTS):
                for k in range(CLASSES):
                    most = times_in(k) << LETTERS if g == 0 else times_in(k)
                    loss = value(self, g, count) - value(self, g, max(count - most, 0)) + (1 << LOSS_SHIFT) - 1
                    for alone in range(2):
                        self.losses[(g * TAGS + 2 * count + alone) * CLASSES + k] = <int16_t>min(
                            (loss + (self.spread[g] if alone and count <= most else 0)) >> LOSS_SHIFT, 32767)

    cdef int64_t count_of(self, uint64_t found, uint16_t tag, int label) noexcept nogil:
        # The label's count of a feature; the largest are looked up among the entries.
        cdef int64_t f = feature_of(found), start, stop, middle
        if (tag % TAGS) >> 1 < COUNTS - 1:
            return (tag % TAGS) >> 1
        start, stop = self.scorer.stops[f - 1] if f else 0, self.scorer.stops[f]
        while start < stop:
            middle = (start + stop) // 2
            if self.scorer.languages[middle] < label:
                start = middle + 1
            else:
                stop = middle
        return self.counts[start]

    cdef void put(self, Table* table, int label) noexcept nogil:
        # Fill the table with a language's features.
        cdef int64_t i
        cdef uint64_t k
        table.mask = 1023
        while 2 * table.mask < 3 * <uint64_t>(self.starts[label + 1] - self.starts[label]):
            table.mask = 2 * table.mask + 1
        memset(table.slots, 0, (table.mask + 1) * sizeof(Own))
        for i in range(self.starts[label], self.starts[label + 1]):
            k = self.mixed[i] & table.mask
            while table.slots[k].found:
                k = (k + 1) & table.mask
            table.slots[k] = Own(mixed=self.mixed[i], found=self.found[i])
            table.tags[k] = self.tags[i]


cdef bint make_table(Table* table, OwnCounts counts) noexcept nogil:
    """Make room for the features of any language; False without memory."""
    cdef int64_t l, most = 0
    for l in range(counts.starts.shape[0] - 1):
        most = max(most, counts.starts[l + 1] - counts.starts[l])
    table.size = 1024
    while 2 * (table.size - 1) < 3 * <uint64_t>most:
        table.size *= 2
    table.slots = <Own*>malloc(table.size * sizeof(Own))
    table.tags = <uint16_t*>malloc(table.size * sizeof(uint16_t))
    table.times = <int32_t*>calloc(table.size, sizeof(int32_t))
    return not (table.slots == NULL or table.tags == NULL or table.times == NULL)


cdef void free_table(Table* table) noexcept nogil:
    free(table.slots)
    free(table.tags)
    free(table.times)
