/* Strings of JSON, 64 bytes at a time: where one ends, and escapes replaced by what they stand for.
 *
 * A mask has bit i set when byte i is of its kind. Text that was written by programs has an escape every thirty bytes or so, and a branch for
 * each of them is guessed wrong: masks leave one loop for those of 64 bytes. Where the processor can (AVX-512 VBMI2), they are checked and taken
 * out without one; what comes out is the same.
 */
#ifndef SAMEBITS_JSON_STRINGS_H
#define SAMEBITS_JSON_STRINGS_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SAMEBITS_HAS_WIDE 1
#endif

#define SAMEBITS_WINDOW 64
#define SAMEBITS_CHUNK 16

/* What the character after a backslash stands for; 0 where JSON knows no such escape, and for `u`. */
static const uint8_t samebits_meaning[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                              ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

typedef struct {
    uint64_t quotes, slashes, controls;
} samebits_marks;

static inline samebits_marks samebits_marks_of(const uint8_t *text) {
    samebits_marks found = {0, 0, 0};
#ifdef __SSE2__
    for (int at = 0; at < SAMEBITS_WINDOW; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        found.quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) << at;
        found.slashes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << at;
        found.controls |= (uint64_t)(uint32_t)_mm_movemask_epi8(control) << at;
    }
#else
    for (int at = 0; at < SAMEBITS_WINDOW; at++) {
        found.quotes |= (uint64_t)(text[at] == '"') << at;
        found.slashes |= (uint64_t)(text[at] == '\\') << at;
        found.controls |= (uint64_t)(text[at] < 0x20) << at;
    }
#endif
    return found;
}

/* Bits of the backslashes that begin an escape, the first byte not being part of one: of a run every other one. */
static inline uint64_t samebits_escapes(uint64_t slashes) {
    if (!(slashes & (slashes << 1))) return slashes;
    uint64_t found = 0;
    while (slashes) {
        const uint64_t first = slashes & -slashes;
        found |= first;
        slashes &= ~(first | (first << 1));
    }
    return found;
}

/* Bits of the first bytes, at most 64. */
static inline uint64_t samebits_first_bits(int64_t size) { return size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX; }

/* Value of the four hexadecimal digits at i, or -1. */
static inline int64_t samebits_code_unit(const uint8_t *p, int64_t i, int64_t n) {
    int64_t value = 0;
    if (i + 4 > n) return -1;
    for (int k = 0; k < 4; k++) {
        const uint8_t digit = p[i + k], letter = digit | 32;
        if (digit >= '0' && digit <= '9')
            value = value * 16 + digit - '0';
        else if (letter >= 'a' && letter <= 'f')
            value = value * 16 + letter - 'a' + 10;
        else
            return -1;
    }
    return value;
}

/* Position after the \u at i, and after the second one if it needs one; -1 if they are no code point. */
static inline int64_t samebits_after_unit(const uint8_t *p, int64_t i, int64_t n) {
    int64_t unit = samebits_code_unit(p, i + 2, n);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return -1;
    i += 6;
    if (unit < 0xD800 || unit > 0xDBFF) return i;
    if (i + 6 > n || p[i] != '\\' || p[i + 1] != 'u') return -1;
    unit = samebits_code_unit(p, i + 2, n);
    return unit >= 0xDC00 && unit <= 0xDFFF ? i + 6 : -1;
}

/* Position of the quote that closes the string whose text starts at i, or -1; nothing from n on is part of it, `room` bytes can be read.
 *
 * Whatever lies from n on, a window with no mark before it goes on to n and beyond, which ends the search. */
static int64_t samebits_string_end(const uint8_t *p, int64_t i, int64_t n, int64_t room, int *escaped) {
    uint8_t last[SAMEBITS_WINDOW];
    *escaped = 0;
    while (i < n) {
        const uint8_t *text = p + i;
        if (i + SAMEBITS_WINDOW > room) {
            memset(last, 0, sizeof last);
            memcpy(last, text, (size_t)(room - i));
            text = last;
        }
        const samebits_marks marks = samebits_marks_of(text);
        uint64_t escapes = samebits_escapes(marks.slashes);
        const uint64_t ends = (marks.quotes & ~(escapes << 1)) | marks.controls;
        const int64_t size = ends ? __builtin_ctzll(ends) : SAMEBITS_WINDOW;
        int64_t next = i + size;
        escapes &= samebits_first_bits(size);
        if (escapes) *escaped = 1;
        while (escapes) {
            const int64_t at = i + __builtin_ctzll(escapes);
            escapes &= escapes - 1;
            if (at + 1 >= n) return -1;
            int64_t after = at + 2;
            if (!samebits_meaning[p[at + 1]]) {
                after = p[at + 1] == 'u' ? samebits_after_unit(p, at, n) : -1;
                if (after < 0) return -1;
                escapes &= after < i + SAMEBITS_WINDOW ? ~samebits_first_bits(after - i) : 0;
            }
            if (after > next) next = after; /* goes on behind the window */
        }
        if (ends && next == i + size) return next < n && p[next] == '"' ? next : -1;
        i = next;
    }
    return -1;
}

/* Write one code point as UTF-8; returns the position after it. */
static inline int64_t samebits_put(uint8_t *p, int64_t out, uint32_t code) {
    if (code < 0x80) {
        p[out++] = (uint8_t)code;
    } else if (code < 0x800) {
        p[out++] = (uint8_t)(0xC0 | code >> 6);
        p[out++] = (uint8_t)(0x80 | (code & 0x3F));
    } else {
        if (code < 0x10000) {
            p[out++] = (uint8_t)(0xE0 | code >> 12);
        } else {
            p[out++] = (uint8_t)(0xF0 | code >> 18);
            p[out++] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        }
        p[out++] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        p[out++] = (uint8_t)(0x80 | (code & 0x3F));
    }
    return out;
}

/* Replace the checked escape at `*i`, which is left behind it; returns the position after what it stands for. */
static inline int64_t samebits_replace(uint8_t *p, int64_t *i, int64_t stop, int64_t out) {
    const uint8_t meaning = samebits_meaning[p[*i + 1]];
    if (meaning) {
        p[out] = meaning;
        *i += 2;
        return out + 1;
    }
    uint32_t code = (uint32_t)samebits_code_unit(p, *i + 2, stop);
    *i += 6;
    if (code >= 0xD800 && code <= 0xDBFF) {
        code = 0x10000 + ((code - 0xD800) << 10) + ((uint32_t)samebits_code_unit(p, *i + 2, stop) - 0xDC00);
        *i += 6;
    }
    return samebits_put(p, out, code);
}

/* Move some bytes of a string to the front. A chunk is moved before it is known how many of its bytes count, if it stays clear of what is
 * still to be read. */
static inline void samebits_move(uint8_t *p, int64_t from, int64_t out, int64_t size, int64_t stop) {
    if (from - out < SAMEBITS_CHUNK || from + size + SAMEBITS_CHUNK > stop) {
        memmove(p + out, p + from, (size_t)size);
        return;
    }
    for (int64_t k = 0; k < size; k += SAMEBITS_CHUNK) memcpy(p + out + k, p + from + k, SAMEBITS_CHUNK);
}

/* Replace the escapes of a checked string that is shorter than a window, or the rest of one. */
static inline int64_t samebits_unescape_rest(uint8_t *p, int64_t i, int64_t stop, int64_t out) {
    while (i < stop) {
        if (p[i] == '\\')
            out = samebits_replace(p, &i, stop, out);
        else
            p[out++] = p[i++];
    }
    return out;
}

/* Replace the escapes of a checked string in place; returns where it stops now. */
static int64_t samebits_unescape(uint8_t *p, int64_t start, int64_t stop) {
    int64_t i = start, out = start;
    while (i + SAMEBITS_WINDOW <= stop) {
        const int64_t begin = i;
        uint64_t escapes = samebits_escapes(samebits_marks_of(p + i).slashes);
        while (escapes) {
            const int64_t at = begin + __builtin_ctzll(escapes);
            samebits_move(p, i, out, at - i, stop);
            out += at - i;
            i = at;
            out = samebits_replace(p, &i, stop, out);
            escapes &= i < begin + SAMEBITS_WINDOW ? ~samebits_first_bits(i - begin) : 0;
        }
        if (i < begin + SAMEBITS_WINDOW) {
            samebits_move(p, i, out, begin + SAMEBITS_WINDOW - i, stop);
            out += begin + SAMEBITS_WINDOW - i;
            i = begin + SAMEBITS_WINDOW;
        }
    }
    return samebits_unescape_rest(p, i, stop, out);
}

#ifdef SAMEBITS_HAS_WIDE
#define SAMEBITS_WIDE __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))

static int samebits_is_wide(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt");
}

/* As samebits_string_end, which looks at what is rare: a \u, an escape that JSON does not know, and the last bytes of a buffer. */
SAMEBITS_WIDE static int64_t samebits_string_end_wide(const uint8_t *p, int64_t i, int64_t n, int64_t room, int *escaped) {
    const __m512i low = _mm512_loadu_si512(samebits_meaning), high = _mm512_loadu_si512(samebits_meaning + 64);
    int found = 0, more = 0;
    while (i < n && i + SAMEBITS_WINDOW <= room) {
        const __m512i bytes = _mm512_loadu_si512(p + i);
        uint64_t escapes = samebits_escapes(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')));
        const uint64_t quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
        const uint64_t ends = (quotes & ~(escapes << 1)) | _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20));
        const int64_t size = ends ? __builtin_ctzll(ends) : SAMEBITS_WINDOW - (int64_t)(escapes >> 63);
        escapes &= samebits_first_bits(size);
        if (escapes) {
            const __m512i meant = _mm512_permutex2var_epi8(low, bytes, high);
            const uint64_t known = _mm512_test_epi8_mask(meant, meant) & ~_mm512_movepi8_mask(bytes);
            if ((escapes << 1) & ~known) break;
            found = 1;
        }
        i += size;
        if (ends) {
            *escaped = found;
            return i < n && p[i] == '"' ? i : -1;
        }
    }
    i = samebits_string_end(p, i, n, room, &more);
    *escaped = found | more;
    return i;
}

/* As samebits_unescape; a window ends before an escape that its last byte begins, and before a \u. */
SAMEBITS_WIDE static int64_t samebits_unescape_wide(uint8_t *p, int64_t start, int64_t stop) {
    const __m512i low = _mm512_loadu_si512(samebits_meaning), high = _mm512_loadu_si512(samebits_meaning + 64);
    int64_t i = start, out = start;
    while (i + SAMEBITS_WINDOW <= stop) {
        const __m512i bytes = _mm512_loadu_si512(p + i);
        const uint64_t escapes = samebits_escapes(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')));
        const uint64_t named = escapes << 1, units = named & _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('u'));
        const __m512i meant = _mm512_mask_mov_epi8(bytes, named, _mm512_permutex2var_epi8(low, bytes, high));
        const int64_t size = units ? __builtin_ctzll(units) - 1 : SAMEBITS_WINDOW - (int64_t)(escapes >> 63);
        const uint64_t kept = ~escapes & samebits_first_bits(size);
        const __m512i packed = _mm512_maskz_compress_epi8(kept, meant);
        const int64_t num = __builtin_popcountll(kept);
        if (size == SAMEBITS_WINDOW) /* what is written too much was read before */
            _mm512_storeu_si512(p + out, packed);
        else
            _mm512_mask_storeu_epi8(p + out, samebits_first_bits(num), packed);
        i += size;
        out += num;
        if (units) out = samebits_replace(p, &i, stop, out);
    }
    return samebits_unescape_rest(p, i, stop, out);
}
#else
static int samebits_is_wide(void) { return 0; }

static int64_t samebits_string_end_wide(const uint8_t *p, int64_t i, int64_t n, int64_t room, int *escaped) {
    return samebits_string_end(p, i, n, room, escaped);
}

static int64_t samebits_unescape_wide(uint8_t *p, int64_t start, int64_t stop) { return samebits_unescape(p, start, stop); }
#endif

#endif
