"""Cut the next pre-token off a text, by many bytes at once where it is ASCII, and make its key."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from samebits.kernels.tokens.byte_pairs.pair_table cimport IN_PLACE, Key, Table, set_key, set_long_key
from samebits.kernels.tokens.cutting cimport cut, cut_later

cdef extern from "ascii_cuts.h" nogil:
    int has_wide_cuts "samebits_has_wide_cuts"()
    uint64_t samebits_ascii_cuts(const uint8_t* text, int most_digits)
    uint64_t samebits_ascii_cuts_wide(const uint8_t* text, int most_digits)
    int __builtin_ctzll(unsigned long long bits)
    void __builtin_prefetch(const void* place)

cdef enum:
    LONGEST = 1024  # a longer pre-token has no entry in a table
    WINDOW = 64  # bytes that are cut at once


cdef inline uint64_t cuts_ahead(const uint8_t* text, int digits, bint wide) noexcept nogil:
    """Where pre-tokens begin in a window of text, without the first, as far as that can be told from it."""
    cdef uint64_t cuts = samebits_ascii_cuts_wide(text, digits) if wide else samebits_ascii_cuts(text, digits)
    return cuts & ~<uint64_t>1


cdef inline int64_t next_cut(
    const uint8_t* text, int64_t i, int64_t stop, int digits, const uint8_t* classes
) noexcept nogil:
    """Where the pre-token at ``i`` ends, found by looking at one character after the other."""
    return cut_later(text, i, stop, classes, digits) if digits else cut(text, i, stop, classes)


cdef inline void make_key(
    Key* key, const Table* table, const uint8_t* text, int64_t begin, int64_t end, int64_t room
) noexcept nogil:
    """Make the key of a pre-token; its entry is on its way from memory then."""
    if end - begin <= IN_PLACE:
        set_key(key, table, text + begin, end - begin, begin + IN_PLACE <= room)
        __builtin_prefetch(key.home)
    elif end - begin <= LONGEST:
        set_long_key(key, table, text + begin, end - begin)
    else:
        key.first = key.second = ~<uint64_t>0  # no text has such bytes
        key.home, key.size = table.slots, end - begin
