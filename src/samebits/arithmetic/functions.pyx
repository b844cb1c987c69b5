"""exp, log, sin, cos, tanh, erf, power and normal numbers with the same bits on every CPU.

Every function takes a number or an array. A float32 array is computed in double and rounded once; everything else is float64.
No C library is asked: the formulas are in ``native/scalar_math.h``.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from samebits.arithmetic._native cimport FloatMode, enter_ieee, leave_ieee

cdef extern from "native/scalar_math.h" nogil:
    double exp_of(double x)
    double log_of(double x)
    double sin_of(double x)
    double cos_of(double x)
    double tanh_of(double x)
    double erf_of(double x)
    double pow_of(double x, double y)
    void two_normals(uint64_t first, uint64_t second, double* a, double* b)

ctypedef double (*Function)(double) noexcept nogil

ctypedef fused real:
    float
    double

MOST_ANGLE = 1e6


cdef void _apply(Function function, const real* x, real* out, int64_t num) noexcept nogil:
    cdef int64_t i
    cdef FloatMode mode = enter_ieee()
    for i in range(num):
        out[i] = <real> function(<double> x[i])
    leave_ieee(mode)


cdef _mapped(Function function, x):
    cdef const float[::1] single
    cdef float[::1] single_out
    cdef const double[::1] double_
    cdef double[::1] double_out
    given = np.asarray(x)
    if given.dtype == np.float32:
        flat = np.ascontiguousarray(given).reshape(-1)
        found = np.empty_like(flat)
        single, single_out = flat, found
        if flat.size:
            with nogil:
                _apply(function, &single[0], &single_out[0], single.shape[0])
    else:
        flat = np.ascontiguousarray(given, np.float64).reshape(-1)
        found = np.empty_like(flat)
        double_, double_out = flat, found
        if flat.size:
            with nogil:
                _apply(function, &double_[0], &double_out[0], double_.shape[0])
    if given.ndim == 0 and not isinstance(x, np.ndarray):
        return found.item() if given.dtype != np.float32 else found[0]
    return found.reshape(given.shape)


def exp(x):
    """Return e to the power of ``x``; 0 below -745.2, infinite above 709.78."""
    return _mapped(&exp_of, x)


def log(x):
    """Return the natural logarithm; minus infinity at 0, NaN below."""
    return _mapped(&log_of, x)


cdef _angles(x):
    if np.abs(x).max(initial=0) > MOST_ANGLE:
        raise ValueError(f"an angle is beyond {MOST_ANGLE:g}: its place on the circle would be lost to rounding")
    return x


def sin(x):
    """Return the sine of angles up to a million."""
    return _mapped(&sin_of, _angles(x))


def cos(x):
    """Return the cosine of angles up to a million."""
    return _mapped(&cos_of, _angles(x))


def tanh(x):
    """Return the hyperbolic tangent."""
    return _mapped(&tanh_of, x)


def erf(x):
    """Return the error function."""
    return _mapped(&erf_of, x)


def power(x, y):
    """Return ``x`` to the power of ``y``, float64, with the shapes broadcast together.

    Whole exponents are done by squaring and multiplying, others as e^(y log x), whose relative error is about
    |y log x| units in the last place.
    """
    cdef const double[::1] base, exponent
    cdef double[::1] out
    cdef FloatMode mode
    cdef int64_t i
    wide = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    base, exponent = (np.ascontiguousarray(part).reshape(-1) for part in wide)
    found = np.empty(wide[0].size)
    out = found
    with nogil:
        mode = enter_ieee()
        for i in range(out.shape[0]):
            out[i] = pow_of(base[i], exponent[i])
        leave_ieee(mode)
    return found.item() if wide[0].ndim == 0 else found.reshape(wide[0].shape)


def normal(rng, shape):
    """Draw normal numbers (float64) from the raw bits of a generator; no NumPy version changes them.

    Args:
        rng: A ``numpy.random.Generator``; two of its 64-bit words make two numbers.
        shape: Of the result; a number or a tuple.
    """
    cdef const uint64_t[::1] raw
    cdef double[::1] out
    cdef FloatMode mode
    cdef int64_t i
    num = int(np.prod(shape, dtype=np.int64))
    pairs = -(-num // 2)
    found = np.empty(2 * pairs)
    if pairs:
        raw = rng.bit_generator.random_raw(2 * pairs)
        out = found
        with nogil:
            mode = enter_ieee()
            for i in range(0, out.shape[0], 2):
                two_normals(raw[i], raw[i + 1], &out[i], &out[i + 1])
            leave_ieee(mode)
    return found[:num].reshape(shape)
