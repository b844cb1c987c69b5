"""When enough of a text was read: the best language is so far ahead that the rest would hardly ever change the answer.

How far is counted in halvings of the probability, whose size in bits grows with the letters that were read (``ranking``). A
language with near ones needs two leads: its group's over all other languages, and its own within the group, as settled
(``shares``). All numbers are whole, so the same words are read on every machine.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    FRACTION = 10  # bits of the weights
    ALONE = 256  # from here on, groups of one language
    OUT_OF_REACH = -(1 << 28)


cdef class Enough:
    """The leads that are needed, for one model and its allowed languages."""

    def __cinit__(
        self,
        const uint8_t[::1] slots,
        const int32_t[::1] odds,
        const int32_t[::1] floors,
        const uint8_t[::1] allowed,
        groups,
        const int64_t[::1] halving,
        weights,
        leads,
    ):
        cdef int l, k, g, first = 0, num = <int>odds.shape[0]
        cdef const int32_t[::1] members
        members, self.group_stops = groups
        if slots.shape[0] != num + members.shape[0] or allowed.shape[0] != num or slots.shape[0] > 256:
            raise ValueError("the slots are not those of the languages and their groups")
        self.halving = halving
        self.model_weights, self.near_weights = weights
        self.far, self.near = leads
        self.num_slots = <int>slots.shape[0]
        for l in range(self.num_slots):
            self.odds[slots[l]] = odds[l] if l < num and allowed[l] else OUT_OF_REACH
            self.floors[slots[l]] = floors[l]
            self.groups[slots[l]] = ALONE + l
        for g in range(self.group_stops.shape[0]):
            for k in range(first, self.group_stops[g]):
                self.of_language[k], self.of_near[k] = slots[members[k]], slots[num + k]
                self.groups[self.of_language[k]] = g
            first = self.group_stops[g]

    cdef bint reached(self, const int32_t* sums, int64_t known) noexcept nogil:
        """Whether the best language of these sums, by slot, is as far ahead as is needed."""
        cdef int32_t values[256]
        cdef int l, group, best = 0
        cdef int32_t letters = <int32_t>known, top = OUT_OF_REACH, second = OUT_OF_REACH, value
        cdef int64_t least = self.halving[min(known, self.halving.shape[0] - 1)]
        for l in range(self.num_slots):
            value = sums[l] + self.odds[l] - letters * self.floors[l]
            values[l] = value
            top = max(top, value)
        while values[best] != top:
            best += 1
            if best == self.num_slots:
                return False
        group = self.groups[best]
        for l in range(self.num_slots):
            value = values[l] if self.groups[l] != group else OUT_OF_REACH
            second = max(second, value)
        if <int64_t>top - second < self.far * least:
            return False
        return group >= ALONE or self.is_settled(group, known, self.near * least, sums, values)

    cdef bint is_settled(
        self, int group, int64_t known, int64_t least, const int32_t* sums, const int32_t* values
    ) noexcept nogil:
        # Within the group: what the model says and what the further columns say, weighted as in ``settle``.
        cdef int64_t most = -((<int64_t>1) << 60), other = most, value, size = min(known, self.model_weights.shape[0] - 1)
        cdef int k, first = self.group_stops[group - 1] if group else 0
        for k in range(first, self.group_stops[group]):
            if self.odds[self.of_language[k]] == OUT_OF_REACH:
                continue
            value = <int64_t>self.model_weights[size] * values[self.of_language[k]]
            value += <int64_t>self.near_weights[size] * sums[self.of_near[k]]
            other = max(other, min(most, value))
            most = max(most, value)
        return (most - other) >> FRACTION >= least
