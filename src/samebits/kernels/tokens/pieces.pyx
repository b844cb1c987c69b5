"""Text as SentencePiece sees it: characters replaced by its table, spaces collapsed and written as U+2581.

The table is the one inside a ``.model`` file: a double-array trie over UTF-8 (32-bit units) whose values are positions of
zero-ended strings. The longest match wins; a byte that begins no valid character becomes U+FFFD.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

import numpy as np

from samebits.kernels.tokens.chars import check_rows


cdef struct Bytes:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t room


cdef int push(Bytes* out, const uint8_t* data, Py_ssize_t size) except -1 nogil:
    """Append bytes, growing the room by half."""
    cdef uint8_t* more
    cdef Py_ssize_t room
    if out.size + size > out.room:
        room = (out.size + size) * 3 // 2 + 64
        more = <uint8_t*>realloc(out.data, room)
        if more == NULL:
            with gil:
                raise MemoryError
        out.data, out.room = more, room
    memcpy(out.data + out.size, data, size)
    out.size += size
    return 0


cdef struct Table:
    const uint32_t* units
    Py_ssize_t num_units
    const uint8_t* strings
    Py_ssize_t num_strings
    const uint8_t* symbols
    const int64_t* ends
    Py_ssize_t num_symbols


cdef struct Match:
    const uint8_t* text
    Py_ssize_t size
    Py_ssize_t used


cdef inline Py_ssize_t char_size(const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """Bytes of a character of valid UTF-8."""
    cdef Py_ssize_t size = 1 if p[0] < 0x80 else 2 if p[0] < 0xE0 else 3 if p[0] < 0xF0 else 4
    return min(size, left)


cdef Match symbol_at(const Table* table, const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """The longest symbol of the user that the text begins with; ``used`` is 0 where there is none."""
    cdef Match found = Match(p, 0, 0)
    cdef Py_ssize_t i, begin, size
    for i in range(table.num_symbols):
        begin = 0 if i == 0 else table.ends[i - 1]
        size = table.ends[i] - begin
        if size > found.used and size <= left and memcmp(table.symbols + begin, p, size) == 0:
            found.used = found.size = size
    return found


cdef Match match_at(const Table* table, const uint8_t* p, Py_ssize_t left) noexcept nogil:
    """What the text at ``p`` becomes, and how many of its bytes that uses."""
    cdef Match found = symbol_at(table, p, left)
    cdef Py_ssize_t i, at = 0, longest = 0, value = 0
    cdef uint32_t unit
    if found.used:
        return found
    if table.num_units:
        unit = table.units[0]
        at = (unit >> 10) << ((unit & 0x200) >> 6)
        for i in range(left):
            at ^= p[i]
            if at >= table.num_units:
                break
            unit = table.units[at]
            if (unit & <uint32_t>0x800000FF) != <uint32_t>p[i]:
                break
            at ^= (unit >> 10) << ((unit & 0x200) >> 6)
            if at >= table.num_units:
                break
            if (unit >> 8) & 1:
                longest, value = i + 1, <Py_ssize_t>(table.units[at] & <uint32_t>0x7FFFFFFF)
    if longest and value < table.num_strings:
        found.text, found.used = table.strings + value, longest
        while value + found.size < table.num_strings and found.text[found.size]:
            found.size += 1
        return found
    found.size = found.used = char_size(p, left)
    return found


cdef int normalize_row(
    const Table* table, const uint8_t* p, Py_ssize_t left, bint prefix, bint collapse, Bytes* out
) except -1 nogil:
    """Append one row."""
    cdef const uint8_t* space = b"\xe2\x96\x81"
    cdef Py_ssize_t i, run, begin = out.size
    cdef bint after_space = collapse
    cdef Match m
    while collapse and left:
        m = match_at(table, p, left)
        if m.size != 1 or m.text[0] != 32:
            break
        p, left = p + m.used, left - m.used
    if left == 0:
        return 0
    if prefix:
        push(out, space, 3)
    while left:
        m = match_at(table, p, left)
        i = 0
        while after_space and i < m.size and m.text[i] == 32:
            i += 1
        if i < m.size:
            after_space = collapse and m.text[m.size - 1] == 32
        while i < m.size:
            run = i
            while run < m.size and m.text[run] != 32:
                run += 1
            push(out, m.text + i, run - i)
            if run < m.size:
                push(out, space, 3)
            i = run + 1
        p, left = p + m.used, left - m.used
    while collapse and out.size - begin >= 3 and memcmp(out.data + out.size - 3, space, 3) == 0:
        out.size -= 3
    return 0


def normalize_pieces(
    const uint8_t[::1] buffer,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    const uint32_t[::1] units,
    const uint8_t[::1] strings,
    const uint8_t[::1] symbols,
    const int64_t[::1] symbol_ends,
    bint prefix,
    bint collapse,
):
    """Normalize every row; returns (bytes, offsets).

    Args:
        units: The trie; empty for none.
        strings: What its values point into.
        symbols: Texts that are never changed, one after the other; ``symbol_ends`` says where each ends.
        prefix: Begin every row that is not empty with a space.
        collapse: Make one of several spaces, and none of those at either end.
    """
    cdef Py_ssize_t i, n = starts.shape[0]
    check_rows(buffer.shape[0], starts, stops)
    offsets = np.zeros(n + 1, np.int64)
    cdef int64_t[::1] ends = offsets
    cdef Bytes out = Bytes(NULL, 0, 0)
    cdef Table table
    table.num_units, table.num_strings = units.shape[0], strings.shape[0]
    table.num_symbols = symbol_ends.shape[0]
    table.units = &units[0] if units.shape[0] else NULL
    table.strings = &strings[0] if strings.shape[0] else NULL
    table.symbols = &symbols[0] if symbols.shape[0] else NULL
    table.ends = &symbol_ends[0] if symbol_ends.shape[0] else NULL
    try:
        with nogil:
            for i in range(n):
                if stops[i] > starts[i]:
                    normalize_row(&table, &buffer[starts[i]], stops[i] - starts[i], prefix, collapse, &out)
                ends[i + 1] = out.size
        made = np.empty(out.size, np.uint8)
        copy_out(made, &out)
        return made, offsets
    finally:
        free(out.data)


cdef copy_out(uint8_t[::1] made, const Bytes* out):
    if out.size:
        memcpy(&made[0], out.data, out.size)


def mark_spaces(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] stops, bint prepend):
    """Texts with U+2581 for every space and, if asked, before every text that does not begin with one: (buffer, offsets)."""
    cdef Py_ssize_t r, i, n = starts.shape[0], k = 0
    cdef int64_t room = check_rows(buffer.shape[0], starts, stops) + 3 * n
    for r in range(n):
        for i in range(starts[r], stops[r]):
            room += 2 * (buffer[i] == 32)
    made = np.empty(room, np.uint8)
    offsets = np.zeros(n + 1, np.int64)
    cdef uint8_t[::1] out = made
    cdef int64_t[::1] ends = offsets
    with nogil:
        for r in range(n):
            i = starts[r]
            if prepend and i < stops[r] and not begins_marked(&buffer[i], stops[r] - i):
                k = put_mark(out, k)
            while i < stops[r]:
                if buffer[i] == 32:
                    k = put_mark(out, k)
                else:
                    out[k] = buffer[i]
                    k += 1
                i += 1
            ends[r + 1] = k
    return made[:k], offsets


cdef inline bint begins_marked(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    return text[0] == 32 or (size >= 3 and text[0] == 0xE2 and text[1] == 0x96 and text[2] == 0x81)


cdef inline Py_ssize_t put_mark(uint8_t[::1] out, Py_ssize_t k) noexcept nogil:
    out[k], out[k + 1], out[k + 2] = 0xE2, 0x96, 0x81
    return k + 3
