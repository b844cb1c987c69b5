"""A cell of JSON lines to ids in one go, without the GIL and without NumPy: for cells that are encoded while Python is still importing.

Whoever imports holds the GIL nearly all the time, so a thread that asks for it between one kernel and the next stands still more
than it works. Only lines that ``jsonl`` is sure of are taken here; where there are others, the readers have to look.
"""

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr

from samebits.kernels.text.jsonl cimport find_strings
from samebits.kernels.text.lines cimport _classify, _count_newlines, _fill_lines
from samebits.kernels.tokens.byte_pairs.pair_memory cimport PairMemory


cdef struct Lines:
    int64_t num
    int64_t* starts
    int64_t* stops
    int64_t* text_starts
    int64_t* text_stops
    int64_t* sizes
    uint8_t* marks  # kinds of lines, then which of them were read
    uint16_t* ids


cdef int make_room(Lines* lines) noexcept nogil:
    """Get memory for so many lines; -1 when it is short."""
    cdef int64_t** each[5]
    cdef int i
    each[0], each[1], each[2] = &lines.starts, &lines.stops, &lines.text_starts
    each[3], each[4] = &lines.text_stops, &lines.sizes
    lines.marks = <uint8_t*>calloc(2 * lines.num, 1)
    for i in range(5):
        each[i][0] = <int64_t*>malloc(lines.num * sizeof(int64_t))
        if each[i][0] == NULL:
            return -1
    return 0 if lines.marks != NULL else -1


cdef int64_t text_bytes(const Lines* lines) noexcept nogil:
    cdef int64_t i, total = 0
    for i in range(lines.num):
        total += lines.text_stops[i] - lines.text_starts[i]
    return total


cdef object numbers_of(const int64_t* values, int64_t num):
    return PyByteArray_FromStringAndSize(<const char*>values, num * sizeof(int64_t))


cdef inline int64_t after_newline(const uint8_t* data, int64_t start, int64_t stop) noexcept nogil:
    """Where the next line starts; -1 if there is no newline before ``stop``."""
    cdef const uint8_t* found = <const uint8_t*>memchr(data + start, 10, stop - start) if start < stop else NULL
    return found - data + 1 if found != NULL else -1


def encode_json_cell(
    PairMemory memory not None,
    uint8_t[::1] data,
    int64_t start,
    int64_t stop,
    bint is_end,
    const uint8_t[::1] key,
    const uint8_t[::1] classes,
    const uint16_t[::1] after,
):
    """Encode one value of every line that begins in ``[start, stop)`` of a buffer; its strings are unescaped in place.

    Args:
        memory: Of the pre-tokens.
        data: Part of a file; its first line begins at 0 or was begun before.
        start: Where the cell begins: 0 only for the first one of a file.
        stop: Where it ends; the last line goes on behind it.
        is_end: Whether the file ends with the buffer.
        key: Of the value.
        classes: Of code points.
        after: Ids that end a row.

    Returns:
        Where lines start, where their texts start and stop, how many ids each row has (64 bits each), and the ids of all rows (16 bits
        each), as bytes; None if there is no line, or one that is not wholly there, blank, not UTF-8 or not read.
    """
    cdef Lines lines
    cdef int64_t bounds[2]
    cdef int64_t i, total = -1
    cdef bint is_short = False
    cdef const uint16_t[::1] before = after[:0]
    if not 0 <= start < stop <= data.shape[0] or classes.shape[0] != 0x110000 or not key.shape[0]:
        raise ValueError(f"a cell [{start}, {stop}) in {data.shape[0]} bytes")
    if start:
        start = after_newline(&data[0], start - 1, stop - 1)
    elif data[0] == 0xEF:  # a byte order mark, or no JSON
        start = -1
    stop = after_newline(&data[0], stop - 1, data.shape[0])
    stop = data.shape[0] if stop < 0 and is_end else stop
    if start < 0 or stop < 0:
        return None
    bounds[0], bounds[1] = 0, key.shape[0]
    lines.num, lines.ids, lines.marks = 0, NULL, NULL
    lines.starts = lines.stops = lines.text_starts = lines.text_stops = lines.sizes = NULL
    try:
        with nogil:
            lines.num = _count_newlines(&data[0], start, stop) + (data[stop - 1] != 10)
            is_short = make_room(&lines) != 0
            if not is_short:
                _fill_lines(&data[0], start, stop, lines.starts, lines.stops)
                _classify(&data[0], lines.starts, lines.stops, lines.num, lines.marks)
                i = find_strings(
                    &data[0], data.shape[0], lines.starts, lines.stops, lines.marks, lines.num, &key[0], bounds, 1, True,
                    lines.marks + lines.num, lines.text_starts, lines.text_stops,
                )
                if i == lines.num:
                    i = text_bytes(&lines) + lines.num * after.shape[0]
                    lines.ids = <uint16_t*>malloc((i + 1) * sizeof(uint16_t))
                    is_short = lines.ids == NULL
            if lines.ids != NULL:
                total = memory.fill_rows(
                    &data[0], lines.text_starts, lines.text_stops, lines.num, data.shape[0], &classes[0],
                    before, after, lines.ids, lines.sizes,
                )
        if is_short or (lines.ids != NULL and total < 0):
            raise MemoryError
        if total < 0:
            return None
        return (
            numbers_of(lines.starts, lines.num),
            numbers_of(lines.text_starts, lines.num),
            numbers_of(lines.text_stops, lines.num),
            numbers_of(lines.sizes, lines.num),
            PyByteArray_FromStringAndSize(<const char*>lines.ids, total * sizeof(uint16_t)),
        )
    finally:
        free(lines.starts)
        free(lines.stops)
        free(lines.text_starts)
        free(lines.text_stops)
        free(lines.sizes)
        free(lines.marks)
        free(lines.ids)
