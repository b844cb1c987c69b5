"""Cut the next pre-tokens off a text, many at once where it is ASCII, and make their keys."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from samebits.kernels.tokens.byte_pairs.pair_table cimport IN_PLACE, Key, Table, set_key, set_long_key
from samebits.kernels.tokens.cutting cimport cut, cut_later

cdef extern from "ascii_cuts.h" nogil:
    uint64_t samebits_ascii_cuts(const uint8_t* text)
    uint64_t samebits_later_cuts(const uint8_t* text, int most_digits)
    int __builtin_ctzll(unsigned long long bits)
    void __builtin_prefetch(const void* place)

cdef enum:
    LONGEST = 1024  # a longer pre-token has no entry in a table
    WINDOW = 64  # bytes that are cut at once


cdef inline int64_t fill_keys(
    const Table* table,
    int digits,
    const uint8_t* text,
    int64_t* place,
    int64_t stop,
    int64_t room,
    const uint8_t* classes,
    Key* keys,
) noexcept nogil:
    """Cut off the next pre-tokens, at most ``WINDOW``, and set ``place`` to where they end; returns how many.

    Their entries are on their way from memory then.
    """
    cdef uint64_t cuts = 0, eight
    cdef int64_t num = 0, i = place[0], begin = i, end
    if i + WINDOW <= stop:
        memcpy(&eight, text + i, 8)
        if not eight & <uint64_t>0x8080808080808080:  # eight bytes of ASCII
            cuts = samebits_later_cuts(text + i, digits) if digits else samebits_ascii_cuts(text + i)
            cuts &= ~<uint64_t>1
    while True:
        if cuts:
            end = i + __builtin_ctzll(cuts)
        elif digits:
            end = cut_later(text, i, stop, classes, digits)
        else:
            end = cut(text, i, stop, classes)
        if end - begin <= IN_PLACE:
            set_key(&keys[num], table, text + begin, end - begin, begin + IN_PLACE <= room)
            __builtin_prefetch(keys[num].home)
        elif end - begin <= LONGEST:
            set_long_key(&keys[num], table, text + begin, end - begin)
        else:
            keys[num].first = keys[num].second = ~<uint64_t>0  # no text has such bytes
            keys[num].home, keys[num].size = table.slots, end - begin
        num, begin = num + 1, end
        cuts &= cuts - 1
        if not cuts:
            place[0] = begin
            return num
