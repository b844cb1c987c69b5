/* One vector type per instruction set, and the few operations that everything here is made of.

   A source includes this file with ISA_AVX512, ISA_AVX2, ISA_NEON or ISA_SCALAR defined. Every operation is one correctly
   rounded IEEE 754 operation per lane (or a choice of bits), so a number never depends on the width of the vector it sat in.
   Nothing here adds across lanes: a lane is a token, and sums over features run down the rows. vmax is "a > b ? a : b"
   everywhere, because the native maxima of x86 and ARM treat NaN and the sign of zero differently. */
#ifndef SAMEBITS_SIMD_H
#define SAMEBITS_SIMD_H
#include <stdint.h>
#include <string.h>

#include "api.h"
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define PANEL 32 /* tokens in a panel; the same for every instruction set */

#if defined(ISA_AVX512)
#include <immintrin.h>
typedef __m512 V;
#define VL 16
#define TILE_V 2 /* vectors across a tile of the big products */
#define TILE_R 14 /* rows of it */
#define HEAD_V 1 /* the same for attention, whose columns are 16 wide */
#define HEAD_R 16
INLINE V vload(const float* p) { return _mm512_loadu_ps(p); }
INLINE void vstore(float* p, V a) { _mm512_storeu_ps(p, a); }
INLINE V vset(float a) { return _mm512_set1_ps(a); }
INLINE V vadd(V a, V b) { return _mm512_add_ps(a, b); }
INLINE V vsub(V a, V b) { return _mm512_sub_ps(a, b); }
INLINE V vmul(V a, V b) { return _mm512_mul_ps(a, b); }
INLINE V vdiv(V a, V b) { return _mm512_div_ps(a, b); }
INLINE V vsqrt(V a) { return _mm512_sqrt_ps(a); }
INLINE V vfma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); } /* a * b + c */
INLINE V vmax(V a, V b) { return _mm512_max_ps(a, b); }           /* is a > b ? a : b */
INLINE V vless(V a, V b, V x, V y) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x); }
INLINE V vabs(V a) { return _mm512_abs_ps(a); }
INLINE V vpower(V a) { /* 2^n from the low bits of n + 1.5 * 2^23 */
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(a), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(n, _mm512_set1_epi32(127 << 23)));
}
#elif defined(ISA_AVX2)
#include <immintrin.h>
typedef __m256 V;
#define VL 8
#define TILE_V 2
#define TILE_R 6
#define HEAD_V 2
#define HEAD_R 6
INLINE V vload(const float* p) { return _mm256_loadu_ps(p); }
INLINE void vstore(float* p, V a) { _mm256_storeu_ps(p, a); }
INLINE V vset(float a) { return _mm256_set1_ps(a); }
INLINE V vadd(V a, V b) { return _mm256_add_ps(a, b); }
INLINE V vsub(V a, V b) { return _mm256_sub_ps(a, b); }
INLINE V vmul(V a, V b) { return _mm256_mul_ps(a, b); }
INLINE V vdiv(V a, V b) { return _mm256_div_ps(a, b); }
INLINE V vsqrt(V a) { return _mm256_sqrt_ps(a); }
INLINE V vfma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
INLINE V vmax(V a, V b) { return _mm256_max_ps(a, b); }
INLINE V vless(V a, V b, V x, V y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
INLINE V vabs(V a) { return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff))); }
INLINE V vpower(V a) {
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(a), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_set1_epi32(127 << 23)));
}
#elif defined(ISA_NEON)
#include <arm_neon.h>
typedef float32x4_t V;
#define VL 4
#define TILE_V 4
#define TILE_R 6
#define HEAD_V 4
#define HEAD_R 6
INLINE V vload(const float* p) { return vld1q_f32(p); }
INLINE void vstore(float* p, V a) { vst1q_f32(p, a); }
INLINE V vset(float a) { return vdupq_n_f32(a); }
INLINE V vadd(V a, V b) { return vaddq_f32(a, b); }
INLINE V vsub(V a, V b) { return vsubq_f32(a, b); }
INLINE V vmul(V a, V b) { return vmulq_f32(a, b); }
INLINE V vdiv(V a, V b) { return vdivq_f32(a, b); }
INLINE V vsqrt(V a) { return vsqrtq_f32(a); }
INLINE V vfma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
INLINE V vmax(V a, V b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE V vless(V a, V b, V x, V y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
INLINE V vabs(V a) { return vabsq_f32(a); }
INLINE V vpower(V a) {
    return vreinterpretq_f32_s32(vaddq_s32(vshlq_n_s32(vreinterpretq_s32_f32(a), 23), vdupq_n_s32(127 << 23)));
}
#elif defined(ISA_SCALAR)
#include <math.h>
typedef float V;
#define VL 1
#define TILE_V 4
#define TILE_R 4
#define HEAD_V 4
#define HEAD_R 4
INLINE V vload(const float* p) { return *p; }
INLINE void vstore(float* p, V a) { *p = a; }
INLINE V vset(float a) { return a; }
INLINE V vadd(V a, V b) { return a + b; }
INLINE V vsub(V a, V b) { return a - b; }
INLINE V vmul(V a, V b) { return a * b; }
INLINE V vdiv(V a, V b) { return a / b; }
INLINE V vsqrt(V a) { return sqrtf(a); }
INLINE V vfma(V a, V b, V c) { return fmaf(a, b, c); }
INLINE V vmax(V a, V b) { return a > b ? a : b; }
INLINE V vless(V a, V b, V x, V y) { return a < b ? x : y; }
INLINE V vabs(V a) { return fabsf(a); }
INLINE V vpower(V a) {
    uint32_t n;
    memcpy(&n, &a, 4);
    n = (n << 23) + (127u << 23);
    memcpy(&a, &n, 4);
    return a;
}
#else
#error "define ISA_AVX512, ISA_AVX2, ISA_NEON or ISA_SCALAR"
#endif

/* 16 x 16 numbers: out[j * out_step + i] = in[i * in_step + j]. */
#if defined(ISA_AVX512)
INLINE void transpose16(const float* in, Size in_step, float* out, Size out_step) {
    __m512 a[16], b[16];
#define PIECE(p) _mm512_castps128_ps512(_mm_loadu_ps(p))
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 4; c++) { /* register 4 c + i: columns 4c..4c+3 of rows i, i + 4, i + 8, i + 12 */
            __m512 x = PIECE(in + i * in_step + 4 * c);
            x = _mm512_insertf32x4(x, _mm_loadu_ps(in + (i + 4) * in_step + 4 * c), 1);
            x = _mm512_insertf32x4(x, _mm_loadu_ps(in + (i + 8) * in_step + 4 * c), 2);
            a[4 * c + i] = _mm512_insertf32x4(x, _mm_loadu_ps(in + (i + 12) * in_step + 4 * c), 3);
        }
#undef PIECE
    for (int c = 0; c < 16; c += 4) {
        const __m512 p = _mm512_unpacklo_ps(a[c], a[c + 1]), q = _mm512_unpackhi_ps(a[c], a[c + 1]);
        const __m512 r = _mm512_unpacklo_ps(a[c + 2], a[c + 3]), s = _mm512_unpackhi_ps(a[c + 2], a[c + 3]);
        b[c] = _mm512_shuffle_ps(p, r, 0x44), b[c + 1] = _mm512_shuffle_ps(p, r, 0xee);
        b[c + 2] = _mm512_shuffle_ps(q, s, 0x44), b[c + 3] = _mm512_shuffle_ps(q, s, 0xee);
    }
    for (int j = 0; j < 16; j++) vstore(out + j * out_step, b[j]);
}
#elif defined(ISA_AVX2)
INLINE void transpose16(const float* in, Size in_step, float* out, Size out_step) {
    for (int i0 = 0; i0 < 16; i0 += 8)
        for (int j0 = 0; j0 < 16; j0 += 8) {
            const float* p = in + i0 * in_step + j0;
            float* o = out + j0 * out_step + i0;
            for (int h = 0; h < 2; h++, p += 4, o += 4 * out_step) { /* columns j0 + 4h .. + 3 */
                __m256 a[4];
                for (int i = 0; i < 4; i++)
                    a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + i * in_step)),
                                                _mm_loadu_ps(p + (i + 4) * in_step), 1);
                const __m256 q = _mm256_unpacklo_ps(a[0], a[1]), r = _mm256_unpackhi_ps(a[0], a[1]);
                const __m256 s = _mm256_unpacklo_ps(a[2], a[3]), t = _mm256_unpackhi_ps(a[2], a[3]);
                vstore(o, _mm256_shuffle_ps(q, s, 0x44)), vstore(o + out_step, _mm256_shuffle_ps(q, s, 0xee));
                vstore(o + 2 * out_step, _mm256_shuffle_ps(r, t, 0x44)), vstore(o + 3 * out_step, _mm256_shuffle_ps(r, t, 0xee));
            }
        }
}
#else
INLINE void transpose16(const float* in, Size in_step, float* out, Size out_step) {
    for (int j = 0; j < 16; j++)
        for (int i = 0; i < 16; i++) out[j * out_step + i] = in[i * in_step + j];
}
#endif
#endif
