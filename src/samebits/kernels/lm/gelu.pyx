"""GELU, the activation of the classic block, with its slope for the backward pass; the loop is in ``lm_gelu.h``.

torch computes the error function in the forward and again in the backward pass, 7 % of a training step together.
"""

cdef extern from *:
    """
    #define REAL float
    #define INT int
    #include "gelu.h"
    #undef REAL
    #undef INT
    #define REAL double
    #define INT long long
    #define PRECISE
    #include "gelu.h"
    #undef REAL
    #undef INT
    """
    void gelu_float(const float* x, float* out, float* slope, Py_ssize_t num) noexcept nogil
    void gelu_double(const double* x, double* out, double* slope, Py_ssize_t num) noexcept nogil

ctypedef fused real:
    float
    double


def gelu_forward(real[:, ::1] x, real[:, ::1] out, real[:, ::1] slope):
    """Write GELU of every number and its derivative; ``slope`` may be ``x`` itself."""
    cdef Py_ssize_t num = x.shape[0] * x.shape[1]
    if num == 0:
        return
    with nogil:
        if real is float:
            gelu_float(&x[0, 0], &out[0, 0], &slope[0, 0], num)
        else:
            gelu_double(&x[0, 0], &out[0, 0], &slope[0, 0], num)
