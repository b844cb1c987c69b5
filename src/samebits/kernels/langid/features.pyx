"""Backoff mode's features: character n-grams of n = 1..4 inside a word with its edges marked, and the word itself.

No feature crosses a word, so everything about a text is a sum over its words, and counting n-grams needs each distinct
word only once, times its count. Keys are 64 bits: n-grams of up to three letters are packed exactly (21 bits a letter, 1
is the edge), longer ones and words are hashed to 62 bits. A collision merges two features, the same way in training and
prediction; below 1e-6 pairs are expected at a million keys.
"""

from libc.stdlib cimport calloc, free, malloc

import numpy as np

from samebits.kernels.langid.features cimport KEYS_PER_BYTE, NUM_GROUPS, group_of, keys_of, mix
from samebits.kernels.langid.text.unicode cimport decode
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    FRACTION_BITS = 10
    EDGE = 1

cdef uint64_t FOUR = (<uint64_t>1) << 63
cdef uint64_t WHOLE = (<uint64_t>3) << 62
cdef uint64_t LOW62 = ((<uint64_t>1) << 62) - 1
cdef uint64_t WORD_SEED = 0x243F6A8885A308D3


cdef int64_t ilog2(uint64_t x) noexcept nogil:
    """log2(x) rounded down to 10 fractional bits, by repeated squaring: no libm, the same bits everywhere. x >= 1."""
    cdef int64_t exponent = 0, result
    cdef uint64_t m, y = x
    cdef int i
    while y > 1:
        y >>= 1
        exponent += 1
    m = x << (31 - exponent) if exponent <= 31 else x >> (exponent - 31)
    result = exponent
    for i in range(FRACTION_BITS):
        m = (m * m) >> 31
        result <<= 1
        if m >> 32:
            m >>= 1
            result |= 1
    return result


cdef int64_t keys_of(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil:
    """Keys of the folded word p[:n] into out (room: KEYS_PER_BYTE n + 8); returns how many. The word's key is last."""
    cdef int64_t i = 0, k = 0
    cdef uint64_t a = 0, b = 0, c = EDGE, d, hashed = WORD_SEED
    while True:
        d = decode(p, &i) if i < n else EDGE
        if d != EDGE:
            out[k] = d
            k += 1
        out[k] = (c << 21) | d
        k += 1
        if b:
            out[k] = (b << 42) | (c << 21) | d
            k += 1
        if a:
            out[k] = FOUR | (mix(mix((a << 42) | (b << 21) | c) ^ d) & LOW62)
            k += 1
        if d == EDGE:
            break
        hashed = mix(hashed ^ d)
        a = b
        b = c
        c = d
    out[k] = WHOLE | (mix(hashed) & LOW62)
    return k + 1


def log2_fixed(const uint64_t[::1] values):
    """``ilog2`` of each value (at least 1) as int64, in 1/1024 bit."""
    cdef int64_t i
    logs = np.empty(values.shape[0], np.int64)
    cdef int64_t[::1] out = logs
    for i in range(values.shape[0]):
        out[i] = ilog2(values[i])
    return logs


def features_of(bytes word):
    """The keys of one folded word and the group of each (0-3: n-grams of 1-4, 4: the word); for explain and tests."""
    cdef uint64_t* keys = <uint64_t*>malloc((KEYS_PER_BYTE * len(word) + 8) * sizeof(uint64_t))
    cdef int64_t i, n
    cdef const uint8_t* p = word
    if keys == NULL:
        raise MemoryError
    n = keys_of(p, len(word), keys)
    found = [(keys[i], group_of(keys[i])) for i in range(n)]
    free(keys)
    return found


cdef struct Pair:
    uint64_t key
    uint32_t language  # + 1; 0 = free
    uint32_t count

cdef struct PairTable:
    Pair* pairs
    uint64_t mask
    uint64_t size


cdef bint widen(PairTable* t) noexcept nogil:
    cdef uint64_t num = 2 * (t.mask + 1), j, k
    cdef Pair* pairs = <Pair*>calloc(num, sizeof(Pair))
    if pairs == NULL:
        return False
    for j in range(t.mask + 1):
        if t.pairs[j].language:
            k = mix(t.pairs[j].key ^ (<uint64_t>t.pairs[j].language << 40)) & (num - 1)
            while pairs[k].language:
                k = (k + 1) & (num - 1)
            pairs[k] = t.pairs[j]
    free(t.pairs)
    t.pairs = pairs
    t.mask = num - 1
    return True


cdef bint add_pair(PairTable* t, uint64_t key, uint32_t language, uint32_t count) noexcept nogil:
    cdef uint64_t k = mix(key ^ (<uint64_t>language << 40)) & t.mask
    while t.pairs[k].language:
        if t.pairs[k].key == key and t.pairs[k].language == language:
            t.pairs[k].count += count
            return True
        k = (k + 1) & t.mask
    t.pairs[k] = Pair(key=key, language=language, count=count)
    t.size += 1
    return widen(t) if 2 * t.size > t.mask else True


def count_features(
    const uint8_t[::1] words,
    const int64_t[::1] word_stops,
    const int64_t[::1] entry_stops,
    const int32_t[::1] languages,
    const uint32_t[::1] counts,
):
    """Feature counts by language from word counts by language.

    ``entry_stops``, ``languages``, ``counts`` are the dictionary (``langid_dict``). Returns unsorted triples as arrays:
    keys uint64, languages int32, counts uint32, each (key, language) once.
    """
    cdef int64_t w, e, i, n, start, entry = 0, longest = 0
    cdef bint ok = True
    cdef PairTable t
    for w in range(word_stops.shape[0]):
        longest = max(longest, word_stops[w] - (word_stops[w - 1] if w else 0))
    cdef uint64_t* keys = <uint64_t*>malloc((KEYS_PER_BYTE * longest + 8) * sizeof(uint64_t))
    t.mask = (1 << 16) - 1
    t.size = 0
    t.pairs = <Pair*>calloc(t.mask + 1, sizeof(Pair))
    try:
        with nogil:
            ok = keys != NULL and t.pairs != NULL
            for w in range(word_stops.shape[0]):
                if not ok:
                    break
                start = word_stops[w - 1] if w else 0
                n = keys_of(&words[start], word_stops[w] - start, keys) if entry_stops[w] > entry else 0
                for e in range(entry, entry_stops[w]):
                    for i in range(n):
                        ok = ok and add_pair(&t, keys[i], <uint32_t>languages[e] + 1, counts[e])
                entry = entry_stops[w]
        if not ok:
            raise MemoryError
        return triples_of(&t)
    finally:
        free(keys)
        free(t.pairs)


cdef object triples_of(const PairTable* t):
    cdef uint64_t j
    cdef int64_t k = 0
    keys, languages, counts = np.empty(t.size, np.uint64), np.empty(t.size, np.int32), np.empty(t.size, np.uint32)
    cdef uint64_t[::1] key_view = keys
    cdef int32_t[::1] language_view = languages
    cdef uint32_t[::1] count_view = counts
    for j in range(t.mask + 1):
        if t.pairs[j].language:
            key_view[k] = t.pairs[j].key
            language_view[k] = <int32_t>t.pairs[j].language - 1
            count_view[k] = t.pairs[j].count
            k += 1
    return keys, languages, counts
