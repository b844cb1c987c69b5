/* XXH3 with 128 bits, no seed, for more than 240 bytes: what the package xxhash computes, without the GIL.
 *
 * Eight sums of 64 bits take a stripe of 64 bytes at a time; after sixteen stripes, a block, they are scrambled. The constants are those of
 * the algorithm. All of it is integers modulo 2**64, so the ways to add up a stripe give the same.
 */
#ifndef SAMEBITS_XXH3_H
#define SAMEBITS_XXH3_H

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SAMEBITS_XXH3_WIDE __attribute__((target("avx2")))
#endif

#define SAMEBITS_XXH3_SHORT 240 /* up to so many bytes another way is used, which is not here */

static const uint8_t samebits_xxh3_secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9,
    0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78,
    0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f,
    0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff,
    0xfa, 0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

#define SAMEBITS_P32_1 UINT64_C(0x9E3779B1)
#define SAMEBITS_P32_2 UINT64_C(0x85EBCA77)
#define SAMEBITS_P32_3 UINT64_C(0xC2B2AE3D)
#define SAMEBITS_P64_1 UINT64_C(0x9E3779B185EBCA87)
#define SAMEBITS_P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define SAMEBITS_P64_3 UINT64_C(0x165667B19E3779F9)
#define SAMEBITS_P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define SAMEBITS_P64_5 UINT64_C(0x27D4EB2F165667C5)
enum { SAMEBITS_STRIPE = 64, SAMEBITS_STRIPES = 16, SAMEBITS_LAST_KEY = 192 - 64 };

/* Eight bytes, the first one lowest, on any machine. */
static inline uint64_t samebits_read64(const uint8_t *p) {
    uint64_t found = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&found, p, sizeof found);
#else
    for (int i = 7; i >= 0; i--) found = found << 8 | p[i];
#endif
    return found;
}

/* Take so many stripes; the key moves on by eight bytes for each. */
static inline void samebits_xxh3_add(uint64_t *sums, const uint8_t *p, const uint8_t *key, int64_t num) {
    for (int64_t n = 0; n < num; n++, p += SAMEBITS_STRIPE, key += 8) {
        for (int i = 0; i < 8; i++) {
            const uint64_t data = samebits_read64(p + 8 * i), mixed = data ^ samebits_read64(key + 8 * i);
            sums[i ^ 1] += data;
            sums[i] += (mixed & 0xFFFFFFFF) * (mixed >> 32);
        }
    }
}

#ifdef SAMEBITS_XXH3_WIDE
SAMEBITS_XXH3_WIDE static void samebits_xxh3_add_wide(uint64_t *sums, const uint8_t *p, const uint8_t *key, int64_t num) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(void *)sums), high = _mm256_loadu_si256((const __m256i *)(void *)(sums + 4));
    for (int64_t n = 0; n < num; n++, p += SAMEBITS_STRIPE, key += 8) {
        const __m256i one = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i two = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        const __m256i first = _mm256_xor_si256(one, _mm256_loadu_si256((const __m256i *)(const void *)key));
        const __m256i second = _mm256_xor_si256(two, _mm256_loadu_si256((const __m256i *)(const void *)(key + 32)));
        low = _mm256_add_epi64(low, _mm256_shuffle_epi32(one, 0x4E));
        high = _mm256_add_epi64(high, _mm256_shuffle_epi32(two, 0x4E));
        low = _mm256_add_epi64(low, _mm256_mul_epu32(first, _mm256_srli_epi64(first, 32)));
        high = _mm256_add_epi64(high, _mm256_mul_epu32(second, _mm256_srli_epi64(second, 32)));
    }
    _mm256_storeu_si256((__m256i *)(void *)sums, low);
    _mm256_storeu_si256((__m256i *)(void *)(sums + 4), high);
}
#endif

static inline uint64_t samebits_fold(uint64_t a, uint64_t b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t samebits_xxh3_merge(const uint64_t *sums, const uint8_t *key, uint64_t start) {
    for (int i = 0; i < 4; i++)
        start += samebits_fold(sums[2 * i] ^ samebits_read64(key + 16 * i), sums[2 * i + 1] ^ samebits_read64(key + 16 * i + 8));
    start = (start ^ (start >> 37)) * UINT64_C(0x165667919E3779F9);
    return start ^ (start >> 32);
}

/* Write the digest of more than SAMEBITS_XXH3_SHORT bytes, the highest byte first. */
static void samebits_xxh3(const uint8_t *p, int64_t size, int wide, uint8_t *digest) {
    uint64_t sums[8] = {SAMEBITS_P32_3, SAMEBITS_P64_1, SAMEBITS_P64_2, SAMEBITS_P64_3,
                        SAMEBITS_P64_4, SAMEBITS_P32_2, SAMEBITS_P64_5, SAMEBITS_P32_1};
    const uint8_t *secret = samebits_xxh3_secret;
    void (*add)(uint64_t *, const uint8_t *, const uint8_t *, int64_t) = samebits_xxh3_add;
    const int64_t block = SAMEBITS_STRIPE * SAMEBITS_STRIPES, num_blocks = (size - 1) / block;
#ifdef SAMEBITS_XXH3_WIDE
    if (wide && __builtin_cpu_supports("avx2")) add = samebits_xxh3_add_wide;
#endif
    for (int64_t n = 0; n < num_blocks; n++) {
        add(sums, p + n * block, secret, SAMEBITS_STRIPES);
        for (int i = 0; i < 8; i++) {
            const uint64_t key = samebits_read64(secret + SAMEBITS_LAST_KEY + 8 * i);
            sums[i] = (sums[i] ^ (sums[i] >> 47) ^ key) * SAMEBITS_P32_1;
        }
    }
    add(sums, p + num_blocks * block, secret, (size - 1 - num_blocks * block) / SAMEBITS_STRIPE);
    add(sums, p + size - SAMEBITS_STRIPE, secret + SAMEBITS_LAST_KEY - 7, 1);
    const uint64_t low = samebits_xxh3_merge(sums, secret + 11, (uint64_t)size * SAMEBITS_P64_1);
    const uint64_t high = samebits_xxh3_merge(sums, secret + SAMEBITS_LAST_KEY - 11, ~((uint64_t)size * SAMEBITS_P64_2));
    for (int i = 0; i < 8; i++) {
        digest[i] = (uint8_t)(high >> (56 - 8 * i));
        digest[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
}

#endif
