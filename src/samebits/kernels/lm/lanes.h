/* Vectors of eight numbers and their exponential, for the kernels of the language model. Included once with REAL float (training)
   and once with REAL double (gradient checks), so that both are the same lines.

   Lanes never mix and nothing is contracted (-ffp-contract=off), so processor vectors of any width give the same bits. Where the
   compiler can, a function marked CLONES exists twice, with and without AVX2, and the loader takes what the processor has.
   Vectors are written out because compilers leave a loop with an exponential as single numbers. */

#ifndef SAMEBITS_LM_LANES
#define SAMEBITS_LM_LANES
#include <math.h>
#include <string.h>
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))
#define AT(p) (*(const LOOSE*)(p))
#define PUT(p, x) (*(LOOSE*)(p) = (x))
#define ALL(x) {x, x, x, x, x, x, x, x}
#define TOTAL(s) (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
#define GREATER(x, y) ((EIGHT)((((x) > (y)) & (INTS)(x)) | (~((x) > (y)) & (INTS)(y))))
#define MORE(x, y) ((x) > (y) ? (x) : (y))
#define MOST(s) MORE(MORE(MORE(s[0], s[4]), MORE(s[2], s[6])), MORE(MORE(s[1], s[5]), MORE(s[3], s[7])))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, REAL)
#define EIGHT NAME(eight_)
#define LOOSE NAME(loose_)
#define INTS NAME(ints_)
#endif

typedef REAL EIGHT __attribute__((vector_size(8 * sizeof(REAL))));
typedef REAL LOOSE __attribute__((vector_size(8 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias)); /* anywhere in memory */
typedef INT INTS __attribute__((vector_size(8 * sizeof(INT)), aligned(sizeof(INT)), may_alias));

/* The exponential of eight numbers up to 0; what lies below -87 counts as -87. In float it is 2^n * e^r with |r| <= ln 2 / 2, and e^r by
   its Taylor polynomial up to r^6, wrong by 2e-7 at most. */
INLINE void NAME(exp_)(EIGHT* numbers) {
    const EIGHT least = ALL(-87);
    const EIGHT x = GREATER(*numbers, least);
#ifdef PRECISE
    for (int l = 0; l < 8; l++) (*numbers)[l] = exp(x[l]);
#else
    const EIGHT n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* adding 1.5 * 2^23 rounds to whole numbers */
    const EIGHT r = (x - n * 0.693359375f) + n * 2.12194440e-4f;   /* ln 2 in two parts, the first exact in few bits */
    EIGHT e = r * (1.0f / 720.0f) + 1.0f / 120.0f;
    e = e * r + 1.0f / 24.0f;
    e = e * r + 1.0f / 6.0f;
    e = e * r + 0.5f;
    e = e * r + 1.0f;
    e = e * r + 1.0f;
    *numbers = e * (EIGHT)((__builtin_convertvector(n, INTS) + 127) << 23);
#endif
}
