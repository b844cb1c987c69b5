/* The innermost loops of compact.pyx: finding a feature in the stream, adding its values. */
#include <stdint.h>
#include <string.h>

#include "large_pages.h"

#define prefetch(p) __builtin_prefetch(p)
#define TOP (1ull << 63)
#define INLINED (1u << 30) /* a code that holds the values of one or two languages itself */
#define DENSE_ABOVE 24 /* languages: from here on a dense row is faster than a list */

/* What tells a feature from others: its bucket and its check. Equal ones cannot be told apart, here as in the stream. */
static inline uint64_t identity_of(uint64_t key, int shift) { return key >> shift << 16 | (key & 0xFFFF); }

/* The feature's code, 0 for none. Identities with the same low 32 bits lie far apart in the table. */
static inline uint64_t look_up(const uint64_t* table, int down, uint64_t identity) {
    const uint64_t* p = table + (identity >> down);
    uint32_t tag = (uint32_t)identity;
    for (; *p; p++)
        if (*p >> 32 == tag) return (uint32_t)*p;
    return 0;
}

/* Where the list that begins at i ends: four entries at a time, one by one at the end of the stream. */
static inline int64_t after_list(const uint16_t* s, int64_t i, int64_t size) {
    uint64_t four;
    for (; i + 4 <= size; i += 4) {
        memcpy(&four, s + i, sizeof four);
        if (four & 0x8000800080008000ull) break;
    }
    while (!(s[i] & 0x8000)) i++;
    return i + 1;
}

/* With wider registers where the processor has them: whole numbers, so the sums are the same. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Add the values of features that were found: of a dense row, marked by the top bit, or of a list in the stream. */
WIDE static void add_values(const uint64_t* found, int64_t num, const int16_t* dense, const uint16_t* stream,
                            const uint8_t* slots, const int16_t* levels, int32_t* restrict sums) {
    for (int64_t i = 0; i < num; i++) {
        uint64_t code = found[i] & ~TOP;
        if (found[i] & TOP) { /* place << 10 | first eight << 5 | eights - 1 */
            const int16_t* restrict row = dense + 8 * (code >> 10);
            int32_t* restrict to = sums + 8 * (code >> 5 & 31);
            for (int k = 0; k < 8 * ((int)(code & 31) + 1); k++) to[k] += row[k];
            continue;
        }
        if (code & INLINED) { /* slot and level, twice */
            sums[code & 255] += levels[code >> 8 & 127];
            sums[code >> 15 & 255] += levels[code >> 23 & 127];
            continue;
        }
        const uint16_t* entry = stream + code;
        do sums[slots[*entry & 255]] += levels[*entry >> 8 & 127];
        while (!(*entry++ & 0x8000));
    }
}

WIDE static void add_sums(const int32_t* restrict row, int width, int32_t* restrict sums) {
    for (int k = 0; k < width; k++) sums[k] += row[k];
}

/* Where the feature's languages begin in the stream, or -1. */
static inline int64_t find_place(const uint32_t* buckets, const uint16_t* s, int shift, uint64_t key) {
    uint64_t bucket = key >> shift;
    int64_t i = buckets[bucket], stop = buckets[bucket + 1];
    uint16_t check = (uint16_t)key;
    while (i < stop) {
        if (s[i] == check) return i + 1;
        i++;
        while (!(s[i] & 0x8000)) i++;
        i++;
    }
    return -1;
}
