/* Functions of whole vectors in single precision, for the inside of kernels: made of vfma, vadd, vmul and vdiv alone. */
#ifndef SAMEBITS_VECTOR_MATH_H
#define SAMEBITS_VECTOR_MATH_H
#include "simd.h"

/* e^x for x <= 88; 0 below -87. 2^n * e^r, |r| <= ln 2 / 2, e^r by its Taylor polynomial to r^7. */
INLINE V vexp(V x) {
    const V magic = vset(12582912.0f); /* 1.5 * 2^23: adding it rounds to whole numbers */
    const V t = vfma(x, vset(1.44269504f), magic), n = vsub(t, magic);
    const V r = vfma(n, vset(2.12194440e-4f), vfma(n, vset(-0.693359375f), x));
    V e = vfma(r, vset(1.0f / 5040), vset(1.0f / 720));
    e = vfma(e, r, vset(1.0f / 120));
    e = vfma(e, r, vset(1.0f / 24));
    e = vfma(e, r, vset(1.0f / 6));
    e = vfma(e, r, vset(0.5f));
    e = vfma(e, r, vset(1.0f));
    e = vfma(e, r, vset(1.0f));
    return vless(x, vset(-87.0f), vset(0.0f), vmul(e, vpower(t)));
}

/* x * Phi(x) and its slope; Phi by formula 7.1.26 of Abramowitz and Stegun, wrong by 1.5e-7 at most. */
INLINE V vgelu(V x, V* slope) {
    const V one = vset(1.0f), bell = vexp(vmul(vmul(x, x), vset(-0.5f)));
    const V t = vdiv(one, vfma(vabs(x), vset(0.231641888f), one)); /* 0.3275911 / sqrt(2) */
    V far = vfma(t, vset(1.061405429f), vset(-1.453152027f));
    far = vfma(far, t, vset(1.421413741f));
    far = vfma(far, t, vset(-0.284496736f));
    far = vfma(far, t, vset(0.254829592f));
    far = vmul(vmul(far, t), vmul(bell, vset(0.5f))); /* the share beyond |x| */
    const V below = vless(x, vset(0.0f), far, vsub(one, far));
    *slope = vfma(x, vmul(bell, vset(0.39894228f)), below);
    return vmul(x, below);
}

/* 1 / (1 + e^-x), from e^-|x| so that nothing overflows. */
INLINE V vsigmoid(V x) {
    const V one = vset(1.0f), e = vexp(vsub(vset(0.0f), vabs(x)));
    const V inverse = vdiv(one, vadd(one, e));
    return vless(x, vset(0.0f), vmul(e, inverse), inverse);
}
#endif
