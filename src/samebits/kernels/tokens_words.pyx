"""Words to ids by an open-addressing table, and word counts for learning a vocabulary.

A word is a run of bytes of class ``WORD``; a byte of class ``ALONE`` is a token by itself; a byte of class
``SPACE`` only separates. The 256 classes come from the caller. A table is at most half full, probed linearly, and
compares the length and every byte: a table keyed on 8 bytes would take "solutions" for "solution".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

import numpy as np

from samebits.kernels.tokens_chars import check_rows

SPACE, ALONE, WORD = 0, 1, 2
cdef uint64_t FNV_START = 0xCBF29CE484222325
cdef uint64_t FNV_PRIME = 0x100000001B3


cdef inline uint64_t slot_of(uint64_t h) noexcept nogil:
    return h ^ (h >> 32)


cdef inline Py_ssize_t scan_word(
    const uint8_t* text, Py_ssize_t i, Py_ssize_t stop, const uint8_t* classes, uint64_t* h
) noexcept nogil:
    """Hash the token that starts at ``i`` and return its end."""
    cdef uint8_t kind = classes[text[i]]
    h[0] = (FNV_START ^ text[i]) * FNV_PRIME
    i += 1
    if kind == 2:
        while i < stop and classes[text[i]] == 2:
            h[0] = (h[0] ^ text[i]) * FNV_PRIME
            i += 1
    return i


def build_table(const uint8_t[::1] arena, const int64_t[::1] offsets):
    """Slots of a table over the words ``arena[offsets[i]:offsets[i + 1]]``: the word's index, or -1."""
    cdef Py_ssize_t i, j, n = offsets.shape[0] - 1
    cdef uint64_t h, s, last
    cdef int bits = 4
    while (<int64_t>1 << bits) < 2 * n:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    cdef int32_t[::1] out = slots
    last = (<uint64_t>1 << bits) - 1
    with nogil:
        for i in range(n):
            h = FNV_START
            for j in range(offsets[i], offsets[i + 1]):
                h = (h ^ arena[j]) * FNV_PRIME
            s = slot_of(h) & last
            while out[s] >= 0:
                s = (s + 1) & last
            out[s] = <int32_t>i
    return slots


def words_to_ids(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint8_t[::1] classes,
    const uint8_t[::1] arena,
    const int64_t[::1] words,
    const int32_t[::1] slots,
    uint32_t first_id,
    uint32_t unknown,
):
    """Ids of the words of every row: ``first_id`` + the word's index. Returns (ids, offsets, number unknown)."""
    cdef Py_ssize_t r, i, stop, begin, length, k = 0, n = starts.shape[0]
    cdef uint64_t h = 0, s, last = slots.shape[0] - 1
    cdef int64_t missing = 0
    cdef int32_t word
    cdef const uint8_t* text = &buffer[0] if buffer.shape[0] else NULL
    cdef const uint8_t* known = &arena[0] if arena.shape[0] else NULL
    ids = np.empty(check_rows(buffer.shape[0], starts, stops), np.uint32)
    offsets = np.zeros(n + 1, np.int64)
    cdef uint32_t[::1] out = ids
    cdef int64_t[::1] ends = offsets
    with nogil:
        for r in range(n):
            i, stop = starts[r], stops[r]
            while i < stop:
                if classes[text[i]] == 0:
                    i += 1
                    continue
                begin = i
                i = scan_word(text, i, stop, &classes[0], &h)
                length = i - begin
                s = slot_of(h) & last
                out[k] = unknown
                while True:
                    word = slots[s]
                    if word < 0:
                        missing += 1
                        break
                    if words[word + 1] - words[word] == length and (
                        memcmp(known + words[word], text + begin, length) == 0
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
            s = slot_of(table[i].h) & (2 * size - 1)
            while bigger[s].count:
                s = (s + 1) & (2 * size - 1)
            bigger[s] = table[i]
    free(table)
    return bigger


cdef int count_row(
    const uint8_t* text, Py_ssize_t i, Py_ssize_t stop, const uint8_t* classes,
    Entry** table, uint64_t* size, int64_t* used,
) noexcept nogil:
    """Add the words of one row; -1 when memory is short (the old table stays valid)."""
    cdef uint64_t h = 0, s
    cdef Py_ssize_t begin
    cdef Entry* entry
    cdef Entry* bigger
    while i < stop:
        if classes[text[i]] == 0:
            i += 1
            continue
        begin = i
        i = scan_word(text, i, stop, classes, &h)
        s = slot_of(h) & (size[0] - 1)
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
                failed = count_row(text, starts[r], stops[r], &classes[0], &table, &size, &used)
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
