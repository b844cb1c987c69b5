"""Row norms of a transformer, forward and backward, and the norm and rotation of queries and keys in one pass.

torch does the norm of rows of 16 floats and their rotation in about twenty passes over memory, a third of a training
step. Here each row is read once. Sums are taken in eight lanes that are added in a fixed order, so the compiler may use
vectors of any width and the bits stay the same. ``real`` is float in training and double in the gradient checks.
"""

from libc.math cimport sqrt

ctypedef fused real:
    float
    double


cdef inline real _dot(const real* a, const real* b, Py_ssize_t n) noexcept nogil:
    cdef real lane[8]
    cdef Py_ssize_t j, l
    for l in range(8):
        lane[l] = 0
    for j in range(0, n - 7, 8):
        for l in range(8):
            lane[l] += a[j + l] * b[j + l]
    for j in range(n - n % 8, n):
        lane[j % 8] += a[j] * b[j]
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


def rms_forward(real[:, ::1] x, real[:, ::1] out, real[::1] scale, double eps):
    """Write each row divided by its root mean square, and the factor."""
    cdef Py_ssize_t i, j, n = x.shape[1]
    cdef real s
    with nogil:
        for i in range(x.shape[0]):
            s = <real>(1.0 / sqrt(_dot(&x[i, 0], &x[i, 0], n) / n + eps))
            scale[i] = s
            for j in range(n):
                out[i, j] = x[i, j] * s


def rms_backward(real[:, ::1] grad_out, real[:, ::1] out, real[::1] scale, real[:, ::1] grad_x):
    """Add the gradient with respect to the rows to ``grad_x``, the gradient that goes around the norm."""
    cdef Py_ssize_t i, j, n = out.shape[1]
    cdef real s, mean
    with nogil:
        for i in range(out.shape[0]):
            s = scale[i]
            mean = _dot(&grad_out[i, 0], &out[i, 0], n) / n
            for j in range(n):
                grad_x[i, j] += s * (grad_out[i, j] - out[i, j] * mean)


cdef inline void _rotate(real* x, const real* cos, const real* sin, Py_ssize_t half, real s, real sign) noexcept nogil:
    """Scale by ``s`` and turn the pairs (j, j + half); ``sign`` -1 turns back."""
    cdef Py_ssize_t j
    cdef real a, b
    for j in range(half):
        a = x[j] * s
        b = x[half + j] * s
        x[j] = a * cos[j] - sign * (b * sin[j])
        x[half + j] = b * cos[j] + sign * (a * sin[j])


def heads_forward(
    real[:, ::1] qkv, real[:, ::1] scale, real[:, ::1] cos, real[:, ::1] sin, Py_ssize_t num_heads, bint norm, double eps
):
    """Normalise (if asked) and rotate the heads of queries and keys in place; row i stands at position i mod len(cos)."""
    cdef Py_ssize_t i, h, t, size = qkv.shape[1] // 3 // num_heads, half = size // 2
    cdef real s = 1
    cdef real* x
    with nogil:
        for i in range(qkv.shape[0]):
            t = i % cos.shape[0]
            for h in range(2 * num_heads):
                x = &qkv[i, h * size]
                if norm:
                    s = <real>(1.0 / sqrt(_dot(x, x, size) / size + eps))
                    scale[i, h] = s
                _rotate(x, &cos[t, 0], &sin[t, 0], half, s, 1)


def heads_backward(
    real[:, ::1] grad,
    real[:, ::1] qkv,
    real[:, ::1] scale,
    real[:, ::1] cos,
    real[:, ::1] sin,
    Py_ssize_t num_heads,
    bint norm,
):
    """Undo ``heads_forward`` for the gradient of q | k | v, in place; values are not touched.

    A rotation keeps lengths and angles, so the norm's backward pass is done on rotated values, and turned back last.
    """
    cdef Py_ssize_t i, j, h, t, size = grad.shape[1] // 3 // num_heads, half = size // 2
    cdef real s = 1, mean
    cdef real* x
    cdef real* y
    with nogil:
        for i in range(qkv.shape[0]):
            t = i % cos.shape[0]
            for h in range(2 * num_heads):
                x = &grad[i, h * size]
                y = &qkv[i, h * size]
                if norm:
                    s = scale[i, h]
                    mean = _dot(x, y, size) / size
                    for j in range(size):
                        x[j] = x[j] - y[j] * mean
                _rotate(x, &cos[t, 0], &sin[t, 0], half, s, -1)
