/* exp, log, sin, cos, tanh, erf and pow in double precision, out of + - * / sqrt and whole numbers alone.

   No fused multiply-add is used, so a processor without one computes the same; the compiler may not fuse on its own
   (-ffp-contract=off). Polynomials are Taylor's, evaluated from the highest power down. Errors are at most about 2 units in the
   last place on the ranges that are named; docs/reference/arithmetic-1.md has the measured ones. */
#ifndef SAMEBITS_SCALAR_MATH_H
#define SAMEBITS_SCALAR_MATH_H
#include <stdint.h>
#include <string.h>

#define LN2_HIGH 0x1.62e42fee00000p-1 /* 32 bits of ln 2, so that n * LN2_HIGH is exact for |n| < 2^20 */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define ROUNDER 0x1.8p52 /* adding and taking it away again rounds to whole numbers */

static inline uint64_t bits_of(double x) {
    uint64_t n;
    memcpy(&n, &x, 8);
    return n;
}
static inline double of_bits(uint64_t n) {
    double x;
    memcpy(&x, &n, 8);
    return x;
}
static inline double power_of_two(int64_t n) { return of_bits((uint64_t)(n + 1023) << 52); } /* -1022 <= n <= 1023 */
static inline double magnitude(double x) { return of_bits(bits_of(x) & 0x7fffffffffffffffu); }

/* e^r - 1 for |r| <= 0.36, given r as high - low. */
static inline double small_exp(double high, double low) {
    static const double over[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                  1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24, 1.0 / 6, 0.5};
    const double r = high - low;
    double sum = over[0];
    for (int i = 1; i < 12; i++) sum = sum * r + over[i];
    return high - (low - r * r * sum);
}

static inline double exp_of(double x) {
    if (!(x == x)) return x;
    if (x > 709.78271289338397) return of_bits(0x7ff0000000000000u);
    if (x < -745.2) return 0.0;
    const double n = (x * 1.4426950408889634 + ROUNDER) - ROUNDER;
    const double e = 1.0 + small_exp(x - n * LN2_HIGH, n * LN2_LOW);
    const int64_t power = (int64_t)n, half = power / 2; /* in two steps: the result may be subnormal */
    return e * power_of_two(half) * power_of_two(power - half);
}

/* e^x - 1, for x >= 0 */
static inline double exp_minus_one(double x) { return x < 0.34 ? small_exp(x, 0.0) : exp_of(x) - 1.0; }

static inline double log_of(double x) {
    if (!(x > 0.0)) return x == 0.0 ? of_bits(0xfff0000000000000u) : of_bits(0x7ff8000000000000u);
    if (bits_of(x) == 0x7ff0000000000000u) return x;
    double e = 0.0;
    if (x < 0x1p-1022) x *= 0x1p54, e = -54.0;
    uint64_t bits = bits_of(x);
    e += (double)((int64_t)(bits >> 52) - 1023);
    double m = of_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142135623730951) m *= 0.5, e += 1.0;
    const double f = m - 1.0, s = f / (2.0 + f), q = s * s; /* log m = 2 artanh s, and 2 s = f - s f */
    double tail = 0.0;
    for (int k = 23; k > 1; k -= 2) tail = (tail + 1.0 / (double)k) * q;
    return e * LN2_HIGH + (f - (s * (f - 2.0 * tail) - e * LN2_LOW));
}

/* sin and cos: x = n * pi / 2 + (high - low), with pi / 2 in three pieces of 33 bits and the rest; good for |x| <= 10^6. */
#define PI_HALF_1 0x1.921fb544p+0
#define PI_HALF_2 0x1.0b4611a6p-34
#define PI_HALF_3 0x1.3198a2e037073p-69
static inline int64_t quarter_turns(double x, double* rest, double* low) {
    const double n = (x * 0.63661977236758134 + ROUNDER) - ROUNDER;
    const double high = x - n * PI_HALF_1, second = n * PI_HALF_2, r = high - second;
    *low = ((r - high) + second) + n * PI_HALF_3;
    *rest = r;
    return (int64_t)n;
}
static inline double small_sin(double r, double low) {
    const double q = r * r;
    double sum = 1.0 / 355687428096000.0;
    static const double over[] = {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0,
                                  1.0 / 120.0, -1.0 / 6.0};
    for (int i = 0; i < 7; i++) sum = sum * q + over[i];
    return r + (r * q * sum - low * (1.0 - 0.5 * q));
}
static inline double small_cos(double r, double low) {
    const double q = r * r, half = 0.5 * q, one = 1.0 - half;
    double sum = -1.0 / 6402373705728000.0;
    static const double over[] = {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0,
                                  -1.0 / 720.0, 1.0 / 24.0};
    for (int i = 0; i < 7; i++) sum = sum * q + over[i];
    return one + (((1.0 - one) - half) + (q * q * sum + r * low));
}
static inline double sin_of(double x) {
    double r, low;
    const int64_t n = quarter_turns(x, &r, &low);
    const double found = n & 1 ? small_cos(r, low) : small_sin(r, low);
    return n & 2 ? -found : found;
}
static inline double cos_of(double x) {
    double r, low;
    const int64_t n = quarter_turns(x, &r, &low);
    const double found = n & 1 ? small_sin(r, low) : small_cos(r, low);
    return (n + 1) & 2 ? -found : found;
}

static inline double tanh_of(double x) {
    if (!(x == x)) return x;
    const double a = magnitude(x);
    const double t = a > 22.0 ? 0.0 : exp_minus_one(2.0 * a);
    const double found = a > 22.0 ? 1.0 : t / (t + 2.0);
    return x < 0.0 ? -found : found;
}

/* Below 2.5 a series of positive terms, 2 x / sqrt(pi) * e^(-x x) * (1 + 2xx/3 + (2xx)^2/15 + ...); above it the continued
   fraction of the rest, from the inside out. */
static inline double erf_of(double x) {
    if (!(x == x)) return x;
    const double a = magnitude(x), q = a * a, bell = exp_of(-q) * 0.56418958354775629;
    double found = 1.0;
    if (a < 2.5) {
        double sum = 1.0;
        for (int n = 48; n > 0; n--) sum = 1.0 + 2.0 * q / (2.0 * n + 1.0) * sum;
        found = 2.0 * a * bell * sum;
    } else if (a < 6.0) {
        double rest = a;
        for (int n = 80; n > 0; n--) rest = a + 0.5 * n / rest;
        found = 1.0 - bell / rest;
    }
    return x < 0.0 ? -found : found;
}

/* x^y: whole exponents up to 2^31 by squaring and multiplying from the lowest bit, one division at the end; others as
   e^(y log x), whose relative error grows with |y log x|. */
static inline double pow_of(double x, double y) {
    const double most = 2147483648.0;
    if (y == y && y >= -most && y <= most && (double)(int64_t)y == y) {
        int64_t n = (int64_t)y, left = n < 0 ? -n : n;
        double found = 1.0;
        for (; left; left >>= 1, x *= x)
            if (left & 1) found *= x;
        return n < 0 ? 1.0 / found : found;
    }
    if (x == 0.0) return y > 0.0 ? 0.0 : of_bits(0x7ff0000000000000u);
    return exp_of(y * log_of(x));
}

/* Two normal numbers from two words of 64 random bits, by the polar form of Box and Muller. */
static inline void two_normals(uint64_t first, uint64_t second, double* a, double* b) {
    const double u = ((double)(first >> 11) + 1.0) * 0x1p-53, turn = (double)(second >> 11) * 0x1p-53;
    const double radius = __builtin_sqrt(-2.0 * log_of(u)), angle = turn * 6.2831853071795862;
    *a = radius * cos_of(angle);
    *b = radius * sin_of(angle);
}
#endif
