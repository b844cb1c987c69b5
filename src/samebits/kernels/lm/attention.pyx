"""Causal attention of many short heads, forward and backward, one head at a time in the first-level cache.

torch's own kernel is made for long sequences: for 64 positions of 16 floats it spends most of its time outside of the
products. Here half of the scores are never computed, and probabilities are kept from the forward to the backward pass, so
the caller uses this for blocks of some hundred positions and torch's kernel beyond. The loops are in ``lm_attention.h``.
``real`` is float in training and double in the gradient checks.
"""

from libc.stdlib cimport calloc, free, malloc

cdef extern from *:
    """
    #define REAL float
    #define INT int
    #include "attention.h"
    #undef REAL
    #undef INT
    #define REAL double
    #define INT long long
    #define PRECISE
    #include "attention.h"
    #undef REAL
    """
    void head_forward_float(
        const float* q, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size, Py_ssize_t width, float scale,
        float* keys, float* p, float* out
    ) noexcept nogil
    void head_forward_double(
        const double* q, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size, Py_ssize_t width, double scale,
        double* keys, double* p, double* out
    ) noexcept nogil
    void head_backward_float(
        const float* q, const float* grad_out, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size, Py_ssize_t width,
        float scale, float* values, float* scores, const float* p, float* grad
    ) noexcept nogil
    void head_backward_double(
        const double* q, const double* grad_out, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size, Py_ssize_t width,
        double scale, double* values, double* scores, const double* p, double* grad
    ) noexcept nogil

ctypedef fused real:
    float
    double


def attention_forward(real[:, ::1] qkv, Py_ssize_t num_heads, double scale, real[:, :, ::1] probs, real[:, ::1] out):
    """Write the heads' outputs side by side and keep the probabilities.

    Args:
        qkv: One row a token, queries, keys and values of all heads side by side; heads are multiples of 16 long.
        num_heads: Heads.
        scale: Factor of the scores.
        probs: (windows * heads, block, block rounded up to 16), zero before the first use.
        out: One row a token.
    """
    cdef Py_ssize_t dim = out.shape[1], block = probs.shape[1], width = probs.shape[2], size = dim // num_heads
    cdef Py_ssize_t at, first, h
    cdef real* keys = <real*>malloc(size * width * sizeof(real))
    if not keys:
        raise MemoryError()
    with nogil:
        for at in range(probs.shape[0]):
            first, h = at // num_heads * block, at % num_heads * size
            if real is float:
                head_forward_float(
                    &qkv[first, h], dim, block, size, width, <float>scale, keys, &probs[at, 0, 0], &out[first, h]
                )
            else:
                head_forward_double(
                    &qkv[first, h], dim, block, size, width, scale, keys, &probs[at, 0, 0], &out[first, h]
                )
        free(keys)


def attention_backward(
    real[:, ::1] grad_out, real[:, ::1] qkv, Py_ssize_t num_heads, double scale, real[:, :, ::1] probs, real[:, ::1] grad
):
    """Write the gradient with respect to ``qkv`` to ``grad``, of the same shape."""
    cdef Py_ssize_t dim = grad_out.shape[1], block = probs.shape[1], width = probs.shape[2], size = dim // num_heads
    cdef Py_ssize_t at, first, h
    cdef real* values = <real*>calloc((size + block) * width, sizeof(real))
    cdef real* scores = values + size * width
    if not values:
        raise MemoryError()
    with nogil:
        for at in range(probs.shape[0]):
            first, h = at // num_heads * block, at % num_heads * size
            if real is float:
                head_backward_float(
                    &qkv[first, h], &grad_out[first, h], dim, block, size, width, <float>scale, values, scores,
                    &probs[at, 0, 0], &grad[first, h],
                )
            else:
                head_backward_double(
                    &qkv[first, h], &grad_out[first, h], dim, block, size, width, scale, values, scores,
                    &probs[at, 0, 0], &grad[first, h],
                )
        free(values)
