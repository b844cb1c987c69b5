"""Element loops of a training step: add up gradients, take their mean with norms, update parameters in one pass.

Everything but the norms is elementwise, with each operation rounded on its own (no fused multiply-add, see setup.py), so the
bits of an element do not depend on where a slice starts or ends. A norm belongs to one whole chunk and is summed in a fixed
order: eight running sums in float64, then those eight from left to right.
"""

from libc.math cimport pow, sqrt, sqrtf
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #define samebits_exchange(place, value) __atomic_exchange_n((place), (value), __ATOMIC_RELAXED)
    """
    int64_t samebits_exchange(int64_t* place, int64_t value) nogil

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
    with nogil:
        _add(&rows[left, 0], &rows[right, 0], start, stop)


def fold_rows(
    float[:, ::1] rows, const int64_t[:, ::1] merges, int64_t start, int64_t stop, float factor, int64_t chunk,
    double[::1] squares
):
    """Do merges (left, right) in order, multiply row 0 by ``factor`` and write each chunk's sum of squares.

    Chunk by chunk, so that what one merge writes is still in the cache when the next reads it. Both ends are chunk borders.
    """
    cdef int64_t c, m
    with nogil:
        for c in range(start // chunk, stop // chunk):
            for m in range(merges.shape[0]):
                _add(&rows[merges[m, 0], 0], &rows[merges[m, 1], 0], c * chunk, (c + 1) * chunk)
            squares[c] = _scaled_squares(&rows[0, 0], c * chunk, (c + 1) * chunk, factor)


def adamw(
    float[::1] params, float[::1] grads, float[::1] first, float[::1] second, int64_t start, int64_t stop,
    double scale, double lr, double beta1, double beta2, double eps, double decay, int64_t step
):
    """One AdamW update of a slice; ``scale`` clips the gradient, ``decay`` is decoupled, ``step`` counts from 1."""
    cdef float* p = &params[0]
    cdef const float* g = &grads[0]
    cdef float* m = &first[0]
    cdef float* v = &second[0]
    cdef float clip = <float> scale
    cdef float keep = <float> (1.0 - lr * decay)
    cdef float new1 = <float> (1.0 - beta1)
    cdef float old2 = <float> beta2
    cdef float new2 = <float> (1.0 - beta2)
    cdef float step_size = <float> (lr / (1.0 - pow(beta1, <double> step)))
    cdef float correction = <float> sqrt(1.0 - pow(beta2, <double> step))
    cdef float tiny = <float> eps
    cdef float grad
    cdef int64_t i
    with nogil:
        for i in range(start, stop):
            grad = g[i] * clip
            m[i] = m[i] + new1 * (grad - m[i])
            v[i] = old2 * v[i] + new2 * grad * grad
            p[i] = p[i] * keep - step_size * m[i] / (sqrtf(v[i]) / correction + tiny)


def sgd(
    float[::1] params, float[::1] grads, float[::1] first, int64_t start, int64_t stop,
    double scale, double lr, double momentum, double decay, bint nesterov
):
    """One update of a slice by SGD with momentum; weight decay is added to the gradient."""
    cdef float* p = &params[0]
    cdef const float* g = &grads[0]
    cdef float* m = &first[0]
    cdef float clip = <float> scale
    cdef float rate = <float> lr
    cdef float inertia = <float> momentum
    cdef float shrink = <float> decay
    cdef float grad, move
    cdef int64_t i
    with nogil:
        for i in range(start, stop):
            grad = g[i] * clip + shrink * p[i]
            m[i] = inertia * m[i] + grad
            move = grad + inertia * m[i] if nesterov else m[i]
            p[i] = p[i] - rate * move
