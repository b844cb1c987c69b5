/* Sums over languages, with wider registers where the processor has them: whole numbers, so the sums are the same. */
#pragma once
#include <stdint.h>

#include "large_pages.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#define WIDER
#include <immintrin.h>
#else
#define WIDE
#endif

/* Add rows of 16-bit values; a row has `width` of them, a multiple of 16. The sums of a block of languages stay in registers. */
static void add_narrow_plain(const int16_t* rows, const int64_t* chosen, int64_t num, int width, int32_t* restrict sums) {
    for (int64_t i = 0; i < num; i++) {
        const int16_t* restrict row = rows + chosen[i] * width;
        for (int k = 0; k < width; k++) sums[k] += row[k];
    }
}

#ifdef WIDER
#define BLOCK(target_, name, vector, lanes, load, store, add, widen, half)                                        \
    __attribute__((target(target_), always_inline)) static inline void name(                                      \
        const int16_t* rows, const int64_t* chosen, int64_t num, int width, int count, int32_t* sums) {           \
        vector sum[8];                                                                                            \
        for (int k = 0; k < count; k++) sum[k] = load((const void*)(sums + lanes * k));                           \
        for (int64_t i = 0; i < num; i++) {                                                                       \
            const int16_t* row = rows + chosen[i] * width;                                                        \
            for (int k = 0; k < count; k++) sum[k] = add(sum[k], widen(half((const void*)(row + lanes * k))));    \
        }                                                                                                         \
        for (int k = 0; k < count; k++) store((void*)(sums + lanes * k), sum[k]);                                 \
    }

BLOCK("avx2", block_8, __m256i, 8, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32, _mm256_cvtepi16_epi32, _mm_loadu_si128)
BLOCK("avx512f", block_16, __m512i, 16, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32, _mm512_cvtepi16_epi32, _mm256_loadu_si256)

__attribute__((target("avx2"))) static void add_narrow_8(const int16_t* rows, const int64_t* chosen, int64_t num, int width, int32_t* sums) {
    int at = 0;
    for (; at + 64 <= width; at += 64) block_8(rows + at, chosen, num, width, 8, sums + at);
    for (; at < width; at += 16) block_8(rows + at, chosen, num, width, 2, sums + at);
}

__attribute__((target("avx512f"))) static void add_narrow_16(const int16_t* rows, const int64_t* chosen, int64_t num, int width, int32_t* sums) {
    int at = 0;
    for (; at + 128 <= width; at += 128) block_16(rows + at, chosen, num, width, 8, sums + at);
    for (; at + 64 <= width; at += 64) block_16(rows + at, chosen, num, width, 4, sums + at);
    for (; at < width; at += 16) block_16(rows + at, chosen, num, width, 1, sums + at);
}
#endif

__attribute__((unused)) static void add_narrow(const int16_t* rows, const int64_t* chosen, int64_t num, int width, int32_t* sums) {
#ifdef WIDER
    if (__builtin_cpu_supports("avx512f")) add_narrow_16(rows, chosen, num, width, sums);
    else if (__builtin_cpu_supports("avx2")) add_narrow_8(rows, chosen, num, width, sums);
    else
#endif
        add_narrow_plain(rows, chosen, num, width, sums);
}

WIDE __attribute__((unused)) static void add_vector(const int32_t* restrict row, int width, int32_t* restrict sums) {
    for (int k = 0; k < width; k++) sums[k] += row[k];
}

/* Add entries of eight of a table. */
WIDE __attribute__((unused)) static void add_losses(const int16_t* restrict table, const uint32_t* restrict places, int64_t num, int32_t* restrict sums) {
    int32_t total[8] = {0};
    for (int64_t i = 0; i < num; i++)
        for (int k = 0; k < 8; k++) total[k] += table[8 * (int64_t)places[i] + k];
    for (int k = 0; k < 8; k++) sums[k] += total[k];
}

/* Take off what languages without a feature pay: floors of each group, as often as it is known. */
WIDE __attribute__((unused)) static void pay_floors(const int32_t* floors, const int32_t* known, int groups, int num, int32_t* restrict sums) {
    for (int g = 0; g < groups; g++) {
        const int32_t* restrict row = floors + (int64_t)g * num;
        int32_t times = known[g];
        if (times)
            for (int k = 0; k < num; k++) sums[k] -= times * row[k];
    }
}

WIDE __attribute__((unused)) static int32_t most_of(const int32_t* restrict sums, int num) {
    int32_t most = sums[0];
    for (int k = 1; k < num; k++) most = sums[k] > most ? sums[k] : most;
    return most;
}
