"""What the compact model's n-grams gain over shorter ones, and how much each matters; in whole numbers, entry by entry.

``samebits.langid.training.compact`` says what is computed and why. A corpus of 200 languages has 12 million entries, so
each array is of 32-bit numbers and made once. Fractions are of 2**31, logarithms in 1/1024 bit.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from samebits.kernels.langid.features cimport ilog2
from samebits.kernels.langid.ngrams cimport NUM_GROUPS, WORD_GROUP

cdef enum:
    ONE = 31
    BITS = 10
    FRACTION = 32
    ALWAYS = 1 << 30
    THOUSAND = 1000
    MARGIN = 20  # thousandths: even a shorter n-gram of one language alone may have a longer one


cdef inline int64_t log_of(int64_t x) noexcept nogil:
    return ilog2(<uint64_t>max(x, 1))


cdef inline int64_t floor_tenth(int64_t x) noexcept nogil:
    return x // 10 if x >= 0 else -((9 - x) // 10)


cdef inline uint32_t share(int64_t count, int64_t total) noexcept nogil:
    return <uint32_t>max(((4 * count - 3) << ONE) // max(4 * total, 1), 1)


cdef inline int64_t own_of(int64_t count, int64_t total) noexcept nogil:
    return <uint32_t>((count << FRACTION) // total)


cdef void leave(
    const uint32_t[::1] counts, const uint8_t[::1] groups, const int64_t[::1] stops, const int32_t[::1] contexts,
    uint32_t[::1] taken, uint32_t[::1] left,
) noexcept nogil:
    # What each context leaves to shorter ones; left counts its kinds first.
    cdef int64_t f, e, x
    for f in range(groups.shape[0]):
        for e in range(stops[f - 1] if f else 0, stops[f]):
            if contexts[e] >= 0 and groups[f] < WORD_GROUP:
                taken[contexts[e]] += counts[e]
                left[contexts[e]] += 1
    for e in range(counts.shape[0]):
        x = <int64_t>1 << ONE
        if left[e]:
            x = ((4 * (<int64_t>counts[e] - taken[e]) + 3 * <int64_t>left[e]) << ONE) // (4 * <int64_t>counts[e])
            x = min(max(x, 1), (<int64_t>1 << ONE) - 1)
        left[e] = <uint32_t>x


def gains_and_values(
    const uint32_t[::1] counts,
    const uint8_t[::1] languages,
    const int64_t[::1] stops,
    const uint8_t[::1] groups,
    const uint8_t[::1] ends,
    const int32_t[::1] contexts,
    const int32_t[::1] shorter,
    const int64_t[::1] tenths,
    int num_languages,
    int unknown,
):
    """Gains and values of n-grams (int32 per entry, words get 0) and what each language leaves to letters never seen."""
    cdef int64_t num = counts.shape[0], f, e, start, x, lower, context
    cdef int group
    cdef int64_t totals[256]
    cdef int64_t kinds[256]
    left, chances = np.zeros(num, np.uint32), np.zeros(num, np.uint32)
    gains, values, rest = np.zeros(num, np.int32), np.zeros(num, np.int32), np.zeros(num_languages, np.int64)
    cdef uint32_t[::1] left_view = left, chance = chances
    cdef int32_t[::1] gain = gains, value = values
    cdef int64_t[::1] rest_view = rest
    with nogil:
        leave(counts, groups, stops, contexts, chance, left_view)
        for e in range(256):
            totals[e] = kinds[e] = 0
        for f in range(groups.shape[0]):
            for e in range(stops[f - 1] if f else 0, stops[f]):
                chance[e] = 1
                if groups[f] == 0 and ends[f] != 2:
                    totals[languages[e]] += counts[e]
                    kinds[languages[e]] += 1
        for e in range(num_languages):
            rest_view[e] = max((3 * kinds[e] << ONE) // max(4 * totals[e], 1), 1)
        for group in range(WORD_GROUP):
            for f in range(groups.shape[0]):
                if groups[f] != group or (group == 0 and ends[f] == 2):
                    continue
                for e in range(stops[f - 1] if f else 0, stops[f]):
                    if group == 0:
                        x = rest_view[languages[e]]
                        chance[e] = share(counts[e], totals[languages[e]]) + <uint32_t>(x >> unknown)
                        gain[e] = <int32_t>(log_of(chance[e]) - log_of(x) + (unknown << BITS))
                    elif contexts[e] >= 0 and shorter[e] >= 0:
                        context, lower = contexts[e], chance[shorter[e]]
                        x = left_view[context]
                        chance[e] = share(counts[e], counts[context]) + <uint32_t>(x * lower >> ONE)
                        gain[e] = <int32_t>(log_of(chance[e]) - log_of(lower) - log_of(x) + (ONE << BITS))
        for f in range(groups.shape[0]):
            if groups[f] < WORD_GROUP:
                for e in range(stops[f - 1] if f else 0, stops[f]):
                    x = log_of(left_view[e]) - (ONE << BITS)
                    value[e] = <int32_t>floor_tenth(tenths[groups[f]] * gain[e] + tenths[groups[f] + 1] * x)
    return gains, values, rest


def weigh(
    const uint32_t[::1] counts,
    const uint8_t[::1] languages,
    const int64_t[::1] stops,
    const uint8_t[::1] groups,
    const int32_t[::1] contexts,
    const int32_t[::1] shorter,
    const int32_t[::1] gains,
    int64_t frequent,
    int64_t for_words,
):
    """How much each entry matters, int32; what an n-gram is built on matters at least as much."""
    cdef int64_t num = counts.shape[0], f, e, most, all_of, x
    cdef int group
    cdef int64_t totals[NUM_GROUPS * 256]
    weights, others = np.zeros(num, np.int32), np.zeros(num, np.uint16)
    cdef int32_t[::1] weight = weights
    cdef uint16_t[::1] other = others  # logarithm of the thousandths of a feature that other languages have
    with nogil:
        for e in range(NUM_GROUPS * 256):
            totals[e] = 0
        for f in range(groups.shape[0]):
            for e in range(stops[f - 1] if f else 0, stops[f]):
                totals[groups[f] * 256 + languages[e]] += counts[e]
        for e in range(NUM_GROUPS * 256):
            totals[e] += frequent
        for f in range(groups.shape[0]):
            all_of = 0
            for e in range(stops[f - 1] if f else 0, stops[f]):
                all_of += own_of(counts[e], totals[groups[f] * 256 + languages[e]])
            for e in range(stops[f - 1] if f else 0, stops[f]):
                x = own_of(counts[e], totals[groups[f] * 256 + languages[e]])
                other[e] = <uint16_t>log_of((all_of - x) * THOUSAND // max(all_of, 1) + MARGIN)
        for f in range(groups.shape[0]):
            most = 0
            for e in range(stops[f - 1] if f else 0, stops[f]):
                most = max(most, own_of(counts[e], totals[groups[f] * 256 + languages[e]]))
            most = log_of(most)
            for e in range(stops[f - 1] if f else 0, stops[f]):
                x = own_of(counts[e], totals[groups[f] * 256 + languages[e]])
                x = (log_of(x) + most) // 2 + log_of(gains[e])
                if shorter[e] >= 0:
                    x += other[shorter[e]]
                if groups[f] == WORD_GROUP:
                    x += for_words
                weight[e] = ALWAYS if groups[f] == 0 else <int32_t>x if gains[e] > 0 else 0
        for group in range(WORD_GROUP - 1, 0, -1):
            for f in range(groups.shape[0]):
                if groups[f] != group:
                    continue
                for e in range(stops[f - 1] if f else 0, stops[f]):
                    if contexts[e] >= 0 and shorter[e] >= 0:
                        weight[contexts[e]] = max(weight[contexts[e]], weight[e])
                        weight[shorter[e]] = max(weight[shorter[e]], weight[e])
    return weights
