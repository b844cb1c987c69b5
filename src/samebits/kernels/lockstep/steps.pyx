"""Element loops of a training step: add up gradients, and take their mean with norms.

Everything but the norms is elementwise, with each operation rounded on its own (no fused multiply-add, see setup.py), so the
bits of an element do not depend on where a slice starts or ends. A norm belongs to one whole chunk and is summed in a fixed
order: eight running sums in float64, then those eight from left to right. Libraries that switch on flushing of tiny numbers
change nothing here: the mode of the processor is set on entry and put back on exit.
"""

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #define samebits_exchange(place, value) __atomic_exchange_n((place), (value), __ATOMIC_RELAXED)
    """
    int64_t samebits_exchange(int64_t* place, int64_t value) nogil

cdef extern from "../../arithmetic/native/ieee.h" nogil:
    ctypedef struct FloatMode:
        pass
    FloatMode enter_ieee()
    void leave_ieee(FloatMode found)

cdef enum:
    LANES = 8


def take(int64_t[::1] taken, int64_t which):
    """Set a flag in shared memory; tell whether it was 0 before, which is so for one process only."""
    return samebits_exchange(&taken[which], 1) == 0


cdef inline void _add(float* into, const float* other, int64_t start, int64_t stop) noexcept nogil:
    cdef int64_t i
    for i in range(start, stop):
        into[i] += other[i]


cdef inline double _scaled_squares(float* x, int64_t start, int64_t stop, float factor) noexcept nogil:
    cdef int64_t i, k
    cdef double[LANES] sums
    cdef double total, value
    for k in range(LANES):
        sums[k] = 0.0
    for i in range(start // LANES, stop // LANES):
        for k in range(LANES):
            x[LANES * i + k] *= factor
            value = x[LANES * i + k]
            sums[k] += value * value
    total = 0.0
    for k in range(LANES):
        total += sums[k]
    return total


def add_rows(float[:, ::1] rows, int64_t left, int64_t right, int64_t start, int64_t stop):
    """Add row ``right`` to row ``left`` between two positions: one merge of the tree."""
    cdef FloatMode mode
    with nogil:
        mode = enter_ieee()
        _add(&rows[left, 0], &rows[right, 0], start, stop)
        leave_ieee(mode)


def fold_rows(
    float[:, ::1] rows, const int64_t[:, ::1] merges, int64_t start, int64_t stop, float factor, int64_t chunk,
    double[::1] squares
):
    """Do merges (left, right) in order, multiply row 0 by ``factor`` and write each chunk's sum of squares.

    Chunk by chunk, so that what one merge writes is still in the cache when the next reads it. Both ends are chunk borders.
    """
    cdef int64_t c, m
    cdef FloatMode mode
    with nogil:
        mode = enter_ieee()
        for c in range(start // chunk, stop // chunk):
            for m in range(merges.shape[0]):
                _add(&rows[merges[m, 0], 0], &rows[merges[m, 1], 0], c * chunk, (c + 1) * chunk)
            squares[c] = _scaled_squares(&rows[0, 0], c * chunk, (c + 1) * chunk, factor)
        leave_ieee(mode)
