"""Runs of ids to rows: interleave columns with special ids, copy runs one after another, or into fixed slots.

Everything is a copy of ranges. The dtype of the result (uint8, uint16 or uint32) is that of ``out``; the caller
has checked that the largest id fits and passes an ``out`` of the right size, which is checked again here.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from samebits.kernels.tokens.chars import check_rows

ctypedef fused token:
    uint8_t
    uint16_t
    uint32_t


def join_pieces(
    const uint32_t[::1] ids,
    const int64_t[:, ::1] starts,
    const int64_t[:, ::1] stops,
    const int64_t[::1] pieces,
    token[::1] out,
    int64_t[::1] lengths,
):
    """Write every row as its pieces in order: piece ``k >= 0`` is run ``k`` of the row, ``-1 - id`` a special id.

    ``starts`` and ``stops`` are (runs, rows). Fills ``lengths`` (tokens per row); returns the tokens written.
    """
    cdef Py_ssize_t r, j, k, t = 0, n = lengths.shape[0], m = pieces.shape[0]
    cdef int64_t total = 0
    for k in range(starts.shape[0]):
        total += check_rows(ids.shape[0], starts[k], stops[k])
    for j in range(m):
        if pieces[j] >= starts.shape[0]:
            raise ValueError(f"piece {j} names run {pieces[j]} of {starts.shape[0]}")
        total += n if pieces[j] < 0 else 0
    if total > out.shape[0]:
        raise ValueError(f"{total} tokens do not fit an output of {out.shape[0]}")
    with nogil:
        for r in range(n):
            lengths[r] = t
            for j in range(m):
                if pieces[j] < 0:
                    out[t] = <token>(-1 - pieces[j])
                    t += 1
                    continue
                for k in range(starts[pieces[j], r], stops[pieces[j], r]):
                    out[t] = <token>ids[k]
                    t += 1
            lengths[r] = t - lengths[r]
    return t


def copy_ranges(const token[::1] stream, const int64_t[::1] starts, const int64_t[::1] stops, token[::1] out):
    """Copy ranges of the stream one after another; returns the tokens written."""
    cdef Py_ssize_t i, t = 0, size, n = starts.shape[0]
    cdef int64_t total = check_rows(stream.shape[0], starts, stops)
    if total > out.shape[0]:
        raise ValueError(f"{total} tokens do not fit an output of {out.shape[0]}")
    with nogil:
        for i in range(n):
            size = stops[i] - starts[i]
            if size:
                memcpy(&out[t], &stream[starts[i]], size * sizeof(token))
                t += size
    return t


def place_rows(
    const token[::1] stream,
    const int64_t[::1] starts,
    const int64_t[::1] stops,
    token[:, ::1] out,
    token pad,
):
    """Copy range ``i`` to row ``i`` of ``out``, cut at its width, filled up with ``pad``."""
    cdef Py_ssize_t i, j, size, n = starts.shape[0], width = out.shape[1]
    check_rows(stream.shape[0], starts, stops)
    if n > out.shape[0]:
        raise ValueError(f"{n} rows do not fit an output of {out.shape[0]}")
    with nogil:
        for i in range(n):
            size = min(stops[i] - starts[i], <int64_t>width)
            if size:
                memcpy(&out[i, 0], &stream[starts[i]], size * sizeof(token))
            for j in range(size, width):
                out[i, j] = pad


def flatten_rows(
    const uint32_t[:, ::1] rows, const int64_t[::1] lengths, const int64_t[::1] places, uint32_t[::1] out
):
    """Copy the first ``lengths[i]`` ids of row ``i`` to ``out`` from ``places[i]`` on."""
    cdef Py_ssize_t i, n = rows.shape[0]
    if lengths.shape[0] != n or places.shape[0] != n:
        raise ValueError(f"{n} rows, {lengths.shape[0]} lengths and {places.shape[0]} places")
    for i in range(n):
        if not 0 <= lengths[i] <= rows.shape[1] or not 0 <= places[i] <= out.shape[0] - lengths[i]:
            raise ValueError(f"row {i}: {lengths[i]} of {rows.shape[1]} ids to place {places[i]}")
    with nogil:
        for i in range(n):
            if lengths[i]:
                memcpy(&out[places[i]], &rows[i, 0], lengths[i] * sizeof(uint32_t))
