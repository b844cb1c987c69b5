/* Where pre-tokens begin in 64 bytes of ASCII text, as bits; by the rules of cutting.pxd, without a branch for each character.
 *
 * A mask has bit i set when byte i is of its kind. A pre-token begins where the kind changes; white space before other text gives its
 * last character away, which begins a pre-token of its own or, if it is a space, goes with what follows. Contractions are rare and are
 * looked at one by one.
 */
#ifndef SAMEBITS_ASCII_CUTS_H
#define SAMEBITS_ASCII_CUTS_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SAMEBITS_HAS_WIDE_CUTS 1
#endif

typedef struct {
    uint64_t letters, digits, white, spaces, line_ends, quotes, foreign; /* foreign: not ASCII */
} samebits_kinds;

#ifdef __SSE2__
/* Bytes between two ASCII characters, both included; bytes above 0x7f are negative, so never. */
static inline __m128i samebits_between(__m128i bytes, char first, char last) {
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(first - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(last + 1))));
}

static inline samebits_kinds samebits_kinds_of(const uint8_t *text) {
    samebits_kinds found = {0, 0, 0, 0, 0, 0, 0};
    for (int part = 0; part < 4; part++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * part));
        const __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        const __m128i space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        const __m128i white = _mm_or_si128(space, samebits_between(bytes, '\t', '\r'));
        const __m128i line_ends =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
        const int at = 16 * part;
        found.line_ends |= (uint64_t)(uint32_t)_mm_movemask_epi8(line_ends) << at;
        found.letters |= (uint64_t)(uint32_t)_mm_movemask_epi8(samebits_between(small, 'a', 'z')) << at;
        found.digits |= (uint64_t)(uint32_t)_mm_movemask_epi8(samebits_between(bytes, '0', '9')) << at;
        found.white |= (uint64_t)(uint32_t)_mm_movemask_epi8(white) << at;
        found.spaces |= (uint64_t)(uint32_t)_mm_movemask_epi8(space) << at;
        found.quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\''))) << at;
        found.foreign |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << at;
    }
    return found;
}
#else
static inline samebits_kinds samebits_kinds_of(const uint8_t *text) {
    samebits_kinds found = {0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 64; i++) {
        const uint8_t c = text[i];
        found.letters |= (uint64_t)((uint8_t)((c | 0x20) - 'a') < 26) << i;
        found.digits |= (uint64_t)((uint8_t)(c - '0') < 10) << i;
        found.white |= (uint64_t)(c == ' ' || (uint8_t)(c - '\t') < 5) << i;
        found.spaces |= (uint64_t)(c == ' ') << i;
        found.line_ends |= (uint64_t)(c == '\n' || c == '\r') << i;
        found.quotes |= (uint64_t)(c == '\'') << i;
        found.foreign |= (uint64_t)(c >> 7) << i;
    }
    return found;
}
#endif

/* Bytes of the contraction that begins at an apostrophe with at least two bytes after it; 0 for none. */
static inline int samebits_contraction(const uint8_t *text) {
    if (text[1] == 's' || text[1] == 't' || text[1] == 'm' || text[1] == 'd') return 2;
    if (text[1] == 'l' && text[2] == 'l') return 3;
    return text[2] == 'e' && (text[1] == 'r' || text[1] == 'v') ? 3 : 0;
}

/* The bit of the byte after some bytes at a place; none if that is the byte after the window. */
static inline uint64_t samebits_bit_after(int at, int size) { return UINT64_C(2) << (at + size - 1); }

/* Bits of the bytes at which pre-tokens begin. The first byte begins one; 64 bytes can be read. What comes after byte 61, or after
 * the second last one before a byte that is not ASCII, cannot be told from here: those bits are 0. */
static inline uint64_t samebits_early_cuts(const uint8_t *text, samebits_kinds kinds) {
    const uint64_t others = ~(kinds.letters | kinds.digits | kinds.white | kinds.foreign);
    const uint64_t last_white = kinds.white & ~(kinds.white >> 1);
    const uint64_t after_space = (kinds.spaces & last_white) << 1;
    uint64_t cuts = (kinds.letters & ~(kinds.letters << 1)) | (kinds.digits & ~(kinds.digits << 1)) |
                    (others & ~(others << 1));
    cuts = (cuts & ~after_space) | (kinds.white & ~(kinds.white << 1)) | last_white | 1;
    uint64_t known = UINT64_MAX >> 2;
    if (kinds.foreign) {
        const uint64_t before = (kinds.foreign & -kinds.foreign) - 1; /* bytes before the first that is not ASCII */
        known = before >> 2;
    }
    cuts &= known;
    for (uint64_t left = cuts & kinds.quotes; left; left &= left - 1) {
        const int at = __builtin_ctzll(left);
        const int size = samebits_contraction(text + at);
        if (size) cuts = (cuts & ~(UINT64_C(2) << at)) | (samebits_bit_after(at, size) & known);
    }
    return cuts;
}

/* The same for cut_later. White space at the end of what can be seen is left out: what becomes of it depends on how it goes on. */
static inline uint64_t samebits_later_cuts(const uint8_t *text, samebits_kinds kinds, int most_digits) {
    const uint64_t letters = kinds.letters, digits = kinds.digits;
    const uint64_t others = ~(letters | digits | kinds.white | kinds.foreign);
    const uint64_t seen = kinds.foreign ? (kinds.foreign & -kinds.foreign) - 1 : UINT64_MAX;
    const uint64_t solid = seen & ~kinds.white;
    if (!solid) return 1;
    const uint64_t known = ((UINT64_C(2) << (63 - __builtin_clzll(solid))) - 1) & (seen >> 2);
    /* signs after a space go with it; a single sign, and white space that ends no line, with the letters after it */
    const uint64_t joined = (kinds.spaces << 1) & others;
    const uint64_t lone = others & ~(others << 1) & ~joined & (letters >> 1);
    const uint64_t before = lone | (kinds.white & ~kinds.line_ends & (letters >> 1));
    uint64_t cuts = (letters & ~(letters << 1) & ~(before << 1)) | (others & ~(others << 1) & ~joined) | 1;
    if (most_digits == 1) {
        cuts |= digits;
    } else {
        for (uint64_t at = digits & ~(digits << 1); at; at = (at << 3) & digits & (digits << 1) & (digits << 2)) cuts |= at;
    }
    /* line ends right after signs belong to them: adding the first bit of a run carries through all of it */
    const uint64_t eaten = kinds.line_ends & ~(kinds.line_ends + (kinds.line_ends & (others << 1)));
    const uint64_t white = kinds.white & ~eaten, gaps = white & ~kinds.line_ends;
    cuts |= (white & ~(white << 1)) | (gaps & ~(kinds.white >> 1));
    for (uint64_t left = ((white & kinds.line_ends) << 1) & gaps; left; left &= left - 1) {
        const int at = __builtin_ctzll(left);
        const uint64_t after = ~(gaps >> at) << at; /* the first bit is where the gap that begins here ends */
        if (after & -after & ~white) cuts |= UINT64_C(1) << at;
    }
    cuts &= known;
    for (uint64_t left = cuts & kinds.quotes & (letters >> 1); left; left &= left - 1) {
        const int at = __builtin_ctzll(left);
        const uint8_t pair[3] = {'\'', (uint8_t)(text[at + 1] | 32), (uint8_t)(text[at + 2] | 32)};
        const int size = samebits_contraction(pair);
        if (size) cuts |= samebits_bit_after(at, size) & known;
    }
    return cuts;
}

/* By the rules of cut, or with some digits by those of cut_later; 0 where the first bytes are not ASCII, so that they are not looked at for nothing. */
static inline uint64_t samebits_cuts_of(const uint8_t *text, samebits_kinds kinds, int most_digits) {
    if (kinds.foreign & 0xff) return 0;
    return most_digits ? samebits_later_cuts(text, kinds, most_digits) : samebits_early_cuts(text, kinds);
}

static inline uint64_t samebits_ascii_cuts(const uint8_t *text, int most_digits) {
    uint64_t eight;
    memcpy(&eight, text, sizeof eight);
    if (eight & UINT64_C(0x8080808080808080)) return 0;
    return samebits_cuts_of(text, samebits_kinds_of(text), most_digits);
}

#ifdef SAMEBITS_HAS_WIDE_CUTS
#define SAMEBITS_WIDE_CUTS __attribute__((target("avx512f,avx512bw,bmi")))

static int samebits_has_wide_cuts(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi");
}

SAMEBITS_WIDE_CUTS static inline uint64_t samebits_between_wide(__m512i bytes, char first, char last) {
    const __m512i from = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first));
    return _mm512_cmple_epu8_mask(from, _mm512_set1_epi8((char)(last - first)));
}

/* As samebits_ascii_cuts, all 64 bytes at once. */
SAMEBITS_WIDE_CUTS static uint64_t samebits_ascii_cuts_wide(const uint8_t *text, int most_digits) {
    const __m512i bytes = _mm512_loadu_si512(text);
    samebits_kinds kinds;
    kinds.foreign = _mm512_movepi8_mask(bytes);
    kinds.letters = samebits_between_wide(_mm512_or_si512(bytes, _mm512_set1_epi8(0x20)), 'a', 'z');
    kinds.digits = samebits_between_wide(bytes, '0', '9');
    kinds.spaces = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
    kinds.white = kinds.spaces | samebits_between_wide(bytes, '\t', '\r');
    kinds.line_ends =
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
    kinds.quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\''));
    return samebits_cuts_of(text, kinds, most_digits);
}
#else
static int samebits_has_wide_cuts(void) { return 0; }

static uint64_t samebits_ascii_cuts_wide(const uint8_t *text, int most_digits) { return samebits_ascii_cuts(text, most_digits); }
#endif

#endif
