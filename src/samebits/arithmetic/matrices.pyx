"""Products of matrices and sums of arrays, in one written-out order.

An element of a product is one chain of fused multiply-adds over ascending k, beginning at 0. A sum has eight running sums in
double (element i goes to number i % 8), which are added from first to last.
"""

import numpy as np

from libc.stdint cimport int64_t

from samebits.arithmetic._native cimport FloatMode, Kernels, Matrix, enter_ieee, kernels, leave_ieee


cdef Matrix _matrix(const float[:, :] x, bint turned) noexcept:
    """Describe an array whose rows, or columns, lie next to each other in memory."""
    cdef Matrix found
    cdef bint by_column = x.strides[1] != sizeof(float) and x.shape[1] > 1
    found.at = &x[0, 0]
    found.step = (x.strides[1] if by_column else x.strides[0]) // <int64_t> sizeof(float)
    found.turned = turned != by_column
    return found


def _readable(x):
    """Return a float32 matrix that has its rows or its columns in one piece, copying only where neither is so."""
    given = np.asarray(x, np.float32)
    if given.ndim != 2:
        raise ValueError(f"a product takes matrices, not arrays of shape {given.shape}")
    pieces = [step for step, length in zip(given.strides, given.shape) if length > 1]
    whole = not pieces or (min(pieces) == given.itemsize and all(step > 0 and step % given.itemsize == 0 for step in pieces))
    return given if whole and given.flags.aligned else np.ascontiguousarray(given)


def product(a, b, *, transpose_a=False, transpose_b=False, out=None):
    """Return the float32 product of two float32 matrices, either of them transposed if asked for.

    Args:
        a, b: Matrices; views such as ``x.T`` cost no copy.
        transpose_a, transpose_b: Use the transpose.
        out: Where to write, a C-contiguous float32 matrix of the right shape.

    Raises:
        ValueError: for shapes that do not fit.
    """
    cdef const float[:, :] left, right
    cdef float[:, ::1] into
    cdef float[::1] work
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef Matrix first, second
    cdef int64_t m, n, k
    a, b = _readable(a), _readable(b)
    m, k = a.shape[::-1] if transpose_a else a.shape
    other, n = b.shape[::-1] if transpose_b else b.shape
    if k != other:
        raise ValueError(f"matrices of {m} x {k} and {other} x {n} cannot be multiplied")
    if out is None:
        out = np.empty((m, n), np.float32)
    if out.shape != (m, n):
        raise ValueError(f"the product is {m} x {n}, and out is {out.shape}")
    if m == 0 or n == 0 or k == 0:
        out[...] = 0.0
        return out
    left, right, into, work = a, b, out, np.empty(table.product_work(m, k), np.float32)
    first, second = _matrix(left, transpose_a), _matrix(right, transpose_b)
    with nogil:
        mode = enter_ieee()
        table.product(&first, &second, &into[0, 0], n, m, n, k, 0, &work[0])
        leave_ieee(mode)
    return out


cdef _summed(x, bint squares):
    cdef const float[::1] single
    cdef const double[::1] double_
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef double found = 0.0
    given = np.asarray(x)
    if not given.size:
        return 0.0
    if given.dtype == np.float32:
        single = np.ascontiguousarray(given).reshape(-1)
        with nogil:
            mode = enter_ieee()
            found = (table.sum_squares_float if squares else table.sum_float)(&single[0], single.shape[0])
            leave_ieee(mode)
    else:
        double_ = np.ascontiguousarray(given, np.float64).reshape(-1)
        with nogil:
            mode = enter_ieee()
            found = (table.sum_squares_double if squares else table.sum_double)(&double_[0], double_.shape[0])
            leave_ieee(mode)
    return found


def total(x):
    """Return the sum of all elements in double, in the order this module describes."""
    return _summed(x, False)


def sum_squares(x):
    """Return the sum of the squares of all elements in double, in the same order."""
    return _summed(x, True)
