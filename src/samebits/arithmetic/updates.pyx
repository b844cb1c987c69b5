"""The update of parameters by AdamW, SGD and Muon: float32, every operation rounded on its own, no C library.

Everything but Muon's direction is elementwise, so the bits of an element do not depend on where a slice starts or ends.
"""

import numpy as np

from libc.stdint cimport int64_t

from samebits.arithmetic._native cimport AdamW, FloatMode, Kernels, Muon, Sgd, enter_ieee, kernels, leave_ieee

cdef extern from "native/scalar_math.h" nogil:
    double pow_of(double x, double y)

cdef extern from "math.h" nogil:
    double sqrt(double x)


cdef int64_t _length(const float[::1] p, int64_t num_g, int64_t num_m) except -1:
    if not p.shape[0] == num_g == num_m:
        raise ValueError(f"{p.shape[0]} parameters, {num_g} gradients and {num_m} moments are not as many of each")
    return p.shape[0]


def adamw(
    float[::1] params, const float[::1] grads, float[::1] first, float[::1] second, *,
    double scale, double lr, double beta1, double beta2, double eps, double decay, int64_t step
):
    """Do one AdamW update of a slice in place.

    Args:
        params, grads, first, second: Parameters, gradient and both moments, equally long.
        scale: What clipping multiplies the gradient by.
        lr: Learning rate.
        beta1, beta2, eps: AdamW's constants.
        decay: Decoupled weight decay.
        step: Counted from 1.
    """
    cdef int64_t num = _length(params, grads.shape[0], first.shape[0])
    cdef const Kernels* table = kernels()
    cdef AdamW settings
    cdef FloatMode mode
    if second.shape[0] != num:
        raise ValueError(f"{num} parameters have {second.shape[0]} second moments")
    if num == 0:
        return
    with nogil:
        mode = enter_ieee()
        settings.clip = <float> scale
        settings.keep = <float> (1.0 - lr * decay)
        settings.new1 = <float> (1.0 - beta1)
        settings.old2 = <float> beta2
        settings.new2 = <float> (1.0 - beta2)
        settings.step_size = <float> (lr / (1.0 - pow_of(beta1, <double> step)))
        settings.correction = <float> sqrt(1.0 - pow_of(beta2, <double> step))
        settings.eps = <float> eps
        table.adamw(&params[0], &grads[0], &first[0], &second[0], num, &settings)
        leave_ieee(mode)


def sgd(
    float[::1] params, const float[::1] grads, float[::1] first, *,
    double scale, double lr, double momentum, double decay, bint nesterov
):
    """Do one update of a slice by SGD with momentum in place; weight decay is added to the gradient."""
    cdef int64_t num = _length(params, grads.shape[0], first.shape[0])
    cdef const Kernels* table = kernels()
    cdef Sgd settings
    cdef FloatMode mode
    if num == 0:
        return
    with nogil:
        mode = enter_ieee()
        settings.clip = <float> scale
        settings.rate = <float> lr
        settings.inertia = <float> momentum
        settings.shrink = <float> decay
        settings.nesterov = nesterov
        table.sgd(&params[0], &grads[0], &first[0], num, &settings)
        leave_ieee(mode)


def orthogonalise(const float[:, ::1] matrix, polynomials):
    """Return a matrix with the same singular vectors and singular values near 1.

    Args:
        matrix: Any shape.
        polynomials: Rows (a, b, c) of the odd quintics a x + b x^3 + c x^5, one an iteration.
    """
    cdef const float[:, ::1] abc = np.asarray(polynomials, np.float32).reshape(-1, 3)
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    found = np.empty((matrix.shape[0], matrix.shape[1]), np.float32)
    cdef float[:, ::1] out = found
    cdef float[::1] work = np.empty(table.muon_work(matrix.shape[0], matrix.shape[1]), np.float32)
    with nogil:
        mode = enter_ieee()
        table.orthogonalise(
            &matrix[0, 0], &out[0, 0], matrix.shape[0], matrix.shape[1], &abc[0, 0], <int> abc.shape[0], &work[0]
        )
        leave_ieee(mode)
    return found


def muon_work(int64_t rows, int64_t cols):
    """Return how many floats of scratch memory ``muon`` wants for a matrix."""
    return kernels().muon_work(rows, cols)


def muon(
    float[:, ::1] params, const float[:, ::1] grads, float[:, ::1] momentum, *,
    double scale, double lr, double inertia, double decay, bint nesterov, polynomials, float[::1] work
):
    """Do one Muon update of a whole matrix in place.

    Args:
        params, grads, momentum: Of one shape.
        scale: What clipping multiplies the gradient by.
        lr: Learning rate; long matrices take sqrt(rows / columns) times as much.
        inertia: Share of the old momentum that is kept.
        decay: Decoupled weight decay.
        nesterov: Look one step ahead.
        polynomials: See ``orthogonalise``.
        work: Scratch memory, at least ``muon_work`` floats.
    """
    cdef int64_t rows = params.shape[0], cols = params.shape[1]
    cdef const float[:, ::1] abc = np.asarray(polynomials, np.float32).reshape(-1, 3)
    cdef const Kernels* table = kernels()
    cdef Muon settings
    cdef FloatMode mode
    cdef double stretch
    if not (rows == grads.shape[0] == momentum.shape[0] and cols == grads.shape[1] == momentum.shape[1]):
        raise ValueError("parameters, gradient and momentum of a matrix must have one shape")
    if work.shape[0] < table.muon_work(rows, cols):
        raise ValueError(f"{work.shape[0]} floats of scratch memory are fewer than {table.muon_work(rows, cols)}")
    with nogil:
        mode = enter_ieee()
        stretch = sqrt(<double> rows / <double> cols) if rows > cols else 1.0
        settings.clip = <float> scale
        settings.fresh = <float> (1.0 - inertia)
        settings.inertia = <float> inertia
        settings.keep = <float> (1.0 - lr * decay)
        settings.rate = <float> (lr * stretch)
        settings.nesterov = nesterov
        settings.iterations = <int> abc.shape[0]
        table.muon(&params[0, 0], &grads[0, 0], &momentum[0, 0], rows, cols, &settings, &abc[0, 0], &work[0])
        leave_ieee(mode)
