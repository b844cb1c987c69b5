/* GELU and its slope in one pass; see lm_lanes.h for what is included twice and why.

   x * Phi(x), where Phi is the normal distribution: Phi(x) = (1 + erf(x / sqrt 2)) / 2. In float erf is formula 7.1.26 of
   Abramowitz and Stegun, wrong by 1.5e-7 at most; its exponential exp(-x^2 / 2) is that of the density, which the slope
   Phi(x) + x * phi(x) needs anyway. So the backward pass is a product, and no erf is computed twice. */

#include "lanes.h"

INLINE void NAME(gelu_eight_)(const REAL* x, REAL* out, REAL* slope) {
    const EIGHT v = AT(x);
    EIGHT bell = v * v * (REAL)-0.5, below;
    NAME(exp_)(&bell);
#ifdef PRECISE
    for (int l = 0; l < 8; l++) below[l] = (REAL)0.5 * (REAL)erfc(-v[l] * 0.70710678118654752);
#else
    const INTS negative = v < 0;
    const EIGHT size = (EIGHT)((INTS)v & 0x7fffffff) * 0.70710678f;
    const EIGHT t = 1.0f / (1.0f + 0.3275911f * size);
    EIGHT far = t * 1.061405429f - 1.453152027f;
    far = far * t + 1.421413741f;
    far = far * t - 0.284496736f;
    far = far * t + 0.254829592f;
    far = far * t * bell * 0.5f; /* the share beyond |v| */
    below = (EIGHT)((negative & (INTS)far) | (~negative & (INTS)(1.0f - far)));
#endif
    PUT(out, v * below);
    PUT(slope, below + v * bell * (REAL)0.39894228040143268);
}

CLONES static void NAME(gelu_)(const REAL* x, REAL* out, REAL* slope, Py_ssize_t num) {
    const Py_ssize_t whole = num / 8 * 8;
    REAL rest[3][8] = {{0}};
    for (Py_ssize_t j = 0; j < whole; j += 8) NAME(gelu_eight_)(x + j, out + j, slope + j);
    memcpy(rest[0], x + whole, (num - whole) * sizeof *x);
    NAME(gelu_eight_)(rest[0], rest[1], rest[2]);
    memcpy(out + whole, rest[1], (num - whole) * sizeof *out);
    memcpy(slope + whole, rest[2], (num - whole) * sizeof *slope);
}
