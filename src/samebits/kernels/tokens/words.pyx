"""Words to ids by an open-addressing table, and word counts for learning a vocabulary.

A word is a run of bytes of class ``WORD``; a byte of class ``ALONE`` is a token by itself; a byte of class
``SPACE`` only separates. The 256 classes come from the caller. A table is at most half full, probed linearly, and
compares the length and every byte: a table keyed on 8 bytes would take "solutions" for "solution".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.chars import check_rows

SPACE, ALONE, WORD = 0, 1, 2
cdef uint64_t PRIME = 0x9E3779B97F4A7C15


cdef inline uint64_t load8(const uint8_t* p, Py_ssize_t size, Py_ssize_t readable) noexcept nogil:
    """The first 8 bytes of a word of ``size`` bytes, zeros after its end; ``readable`` bytes may be touched.

    Little-endian machines only, like the files of a store.
    """
    cdef uint64_t value = 0
    if readable >= 8:
        memcpy(&value, p, 8)
        return value if size >= 8 else value & ((<uint64_t>1 << (8 * size)) - 1)
    memcpy(&value, p, min(size, 8))
    return value


cdef inline uint64_t hash_word(
    const uint8_t* p, Py_ssize_t size, Py_ssize_t readable, uint64_t head
) noexcept nogil:
    """Hash a word 8 bytes at a time; ``head`` is its first 8. Most words need one multiplication."""
    cdef uint64_t h = (head ^ <uint64_t>size) * PRIME
    cdef Py_ssize_t i = 8
    while i < size:
        h = ((h ^ (h >> 29)) ^ load8(p + i, size - i, readable - i)) * PRIME
        i += 8
    return h ^ (h >> 32)


cdef inline Py_ssize_t word_end(
    const uint8_t* text, Py_ssize_t i, Py_ssize_t stop, const uint8_t* classes
) noexcept nogil:
    """Where the token that starts at ``i`` ends."""
    if classes[text[i]] == 2:
        i += 1
        while i < stop and classes[text[i]] == 2:
            i += 1
        return i
    return i + 1


def build_table(const uint8_t[::1] arena, const int64_t[::1] offsets):
    """A table over the words ``arena[offsets[i]:offsets[i + 1]]``.

    Returns (slots: a word's index or -1, the first 8 bytes of each word, the index of each one-byte word or -1).
    """
    cdef Py_ssize_t i, size, n = offsets.shape[0] - 1
    cdef uint64_t s, last
    cdef const uint8_t* known = &arena[0] if arena.shape[0] else NULL
    cdef int bits = 4
    while (<int64_t>1 << bits) < 2 * n:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    heads = np.zeros(n, np.uint64)
    singles = np.full(256, -1, np.int32)
    cdef int32_t[::1] out = slots
    cdef int32_t[::1] single = singles
    cdef uint64_t[::1] first = heads
    check_rows(arena.shape[0], offsets[:n], offsets[1:])
    last = (<uint64_t>1 << bits) - 1
    with nogil:
        for i in range(n):
            size = offsets[i + 1] - offsets[i]
            first[i] = load8(known + offsets[i], size, arena.shape[0] - offsets[i])
            if size == 1:
                single[first[i]] = <int32_t>i
            s = hash_word(known + offsets[i], size, arena.shape[0] - offsets[i], first[i]) & last
            while out[s] >= 0:
                s = (s + 1) & last
            out[s] = <int32_t>i
    return slots, heads, singles


def words_to_ids(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] classes,
    const uint8_t[::1] arena,
    const int64_t[::1] words,
    const int32_t[::1] slots,
    const uint64_t[::1] heads,
    const int32_t[::1] singles,
    uint32_t first_id,
    uint32_t unknown,
):
    """Ids of the words of every row: ``first_id`` + the word's index. Returns (ids, offsets, number unknown)."""
    cdef Py_ssize_t r, i, stop, begin, size, limit = buffer.shape[0], k = 0, n = starts.shape[0]
    cdef uint64_t head, s, last = slots.shape[0] - 1
    cdef int64_t missing = 0
    cdef int32_t word
    cdef const uint8_t* text = &buffer[0] if buffer.shape[0] else NULL
    cdef const uint8_t* known = &arena[0] if arena.shape[0] else NULL
    cdef const uint8_t* kinds = &classes[0]
    ids = np.empty(check_rows(buffer.shape[0], starts, stops), np.uint32)
    offsets = np.zeros(n + 1, np.int64)
    cdef uint32_t[::1] out = ids
    cdef int64_t[::1] ends = offsets
    with nogil:
        for r in range(n):
            i, stop = starts[r], stops[r]
            while i < stop:
                if kinds[text[i]] == 0:
                    i += 1
                    continue
                begin = i
                i = word_end(text, i, stop, kinds)
                size = i - begin
                if size == 1:  # brackets and letters: two thirds of the tokens of a puzzle
                    word = singles[text[begin]]
                    missing += word < 0
                    out[k] = unknown if word < 0 else first_id + <uint32_t>word
                    k += 1
                    continue
                head = load8(text + begin, size, limit - begin)
                s = hash_word(text + begin, size, limit - begin, head) & last
                out[k] = unknown
                while True:
                    word = slots[s]
                    if word < 0:
                        missing += 1
                        break
                    # equal heads and lengths are equal words up to 8 bytes; longer ones are compared to the end
                    if heads[word] == head and words[word + 1] - words[word] == size and (
                        size <= 8 or memcmp(known + words[word], text + begin, size) == 0
                    ):
                        out[k] = first_id + <uint32_t>word
                        break
                    s = (s + 1) & last
                k += 1
            ends[r + 1] = k
    return ids[:k], offsets, missing


cdef struct Entry:
    uint64_t h
    int64_t start
    int64_t length
    int64_t count


cdef Entry* grown(Entry* table, uint64_t size) noexcept nogil:
    """A table of twice the size with the same entries; NULL when memory is short."""
    cdef Entry* bigger = <Entry*>calloc(2 * size, sizeof(Entry))
    cdef uint64_t i, s
    if bigger == NULL:
        return NULL
    for i in range(size):
        if table[i].count:
            s = table[i].h & (2 * size - 1)
            while bigger[s].count:
                s = (s + 1) & (2 * size - 1)
            bigger[s] = table[i]
    free(table)
    return bigger


cdef int count_row(
    const uint8_t* text, Py_ssize_t i, Py_ssize_t stop, Py_ssize_t limit, const uint8_t* classes,
    Entry** table, uint64_t* size, int64_t* used,
) noexcept nogil:
    """Add the words of one row; -1 when memory is short (the old table stays valid)."""
    cdef uint64_t h, s
    cdef Py_ssize_t begin
    cdef Entry* entry
    cdef Entry* bigger
    while i < stop:
        if classes[text[i]] == 0:
            i += 1
            continue
        begin = i
        i = word_end(text, i, stop, classes)
        h = hash_word(text + begin, i - begin, limit - begin, load8(text + begin, i - begin, limit - begin))
        s = h & (size[0] - 1)
        while True:
            entry = &table[0][s]
            if entry.count == 0:
                entry.h, entry.start, entry.length, entry.count = h, begin, i - begin, 1
                used[0] += 1
                break
            if entry.h == h and entry.length == i - begin and (
                memcmp(text + entry.start, text + begin, i - begin) == 0
            ):
                entry.count += 1
                break
            s = (s + 1) & (size[0] - 1)
        if 2 * <uint64_t>used[0] > size[0]:
            bigger = grown(table[0], size[0])
            if bigger == NULL:
                return -1
            table[0] = bigger
            size[0] *= 2
    return 0


def count_words(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] classes,
):
    """Distinct words of the rows: (start in the buffer, length, count), in the order of first appearance."""
    cdef Py_ssize_t r, n = starts.shape[0]
    cdef uint64_t size = 1 << 12
    cdef int64_t used = 0
    cdef int failed = 0
    cdef const uint8_t* text = &buffer[0] if buffer.shape[0] else NULL
    check_rows(buffer.shape[0], starts, stops)
    cdef Entry* table = <Entry*>calloc(size, sizeof(Entry))
    if table == NULL:
        raise MemoryError
    try:
        with nogil:
            for r in range(n):
                failed = count_row(
                    text, starts[r], stops[r], buffer.shape[0], &classes[0], &table, &size, &used
                )
                if failed:
                    break
        if failed:
            raise MemoryError
        found = np.empty((3, used), np.int64)
        copy_entries(table, size, found)
    finally:
        free(table)
    order = np.argsort(found[0], kind="stable")
    return found[0][order], found[1][order], found[2][order]


cdef void copy_entries(Entry* table, uint64_t size, int64_t[:, ::1] out):
    cdef uint64_t i
    cdef Py_ssize_t k = 0
    for i in range(size):
        if table[i].count:
            out[0, k], out[1, k], out[2, k] = table[i].start, table[i].length, table[i].count
            k += 1
