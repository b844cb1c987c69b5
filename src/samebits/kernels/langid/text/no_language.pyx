"""Texts that are in no language, told by their signs: addresses, paths, code, hashes, base64.

Letters of tokens that no prose has (``a/b``, ``camelCase``, ``x9f3a``) and signs of code speak for noise, all other letters
against it. Keywords of code are words of many languages, so most of them count only beside such signs. Only ASCII is
looked at: other scripts write signs between letters without spaces.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from samebits.kernels.langid.text.unicode cimport SPACE, Points, flags_of

cdef enum:
    SLOTS = 128
    PER_SIGN = 4  # letters
    PER_END = 6
    PER_KEYWORD = 3
    LEAST_VISIBLE = 5
    STRONG = 1
    WEAK = 2

cdef uint64_t keywords[SLOTS]
cdef int strengths[SLOTS]
cdef bint joints[128]
cdef int signs[128]  # how much a sign speaks for code, in letters


cdef inline uint64_t slot_of(uint64_t packed) noexcept nogil:
    return packed * <uint64_t>0x9E3779B97F4A7C15 >> 57


cdef int strength_of(uint64_t packed) noexcept nogil:
    cdef uint64_t k = slot_of(packed)
    while keywords[k]:
        if keywords[k] == packed:
            return strengths[k]
        k = (k + 1) % SLOTS
    return 0


cdef int fill_tables() except -1:
    cdef uint64_t packed, k
    cdef int strength
    for strength, words in (
        (STRONG, b"typedef struct unsigned extern elif printf sizeof nullptr enum endif ifdef ifndef define include"),
        (WEAK, b"return if for while else from class try new case with public private static break continue raise "
               b"throw import def var let const int char void function async await except float double long bool auto "
               b"switch default in is not and or self this null none true false select where as do end then echo yield assert"),
    ):
        for word in words.split():
            packed = 0
            for letter in word:
                packed = packed << 8 | <uint64_t>letter
            k = slot_of(packed)
            while keywords[k]:
                k = (k + 1) % SLOTS
            keywords[k], strengths[k] = packed, strength
    # Between two letters or digits the first are signs of an address, a path or code.
    for letter in b"./\\_=@:+&%#([{<>|*$":
        joints[letter] = True
    for letter in b"{}[]<>=_\\|*^~":
        signs[letter] = 2 * PER_SIGN
    for letter in b";&+%$#@":  # prose has them too
        signs[letter] = PER_SIGN
    return 0


fill_tables()


cdef inline bint is_alnum(uint32_t c) noexcept nogil:
    return 48 <= c < 58 or 65 <= c < 91 or 97 <= c < 123


cdef bint is_odd(const uint32_t* c, int64_t n) noexcept nogil:
    """Whether a token is one that prose has not: joined by signs, camel case, letters and digits mixed."""
    cdef int64_t i, digits = 0, letters = 0, turns = 0, others = 0
    for i in range(n):
        others += c[i] >= 128
    if 2 * others > n:
        return False
    for i in range(n):
        if c[i] >= 128:
            continue
        if 48 <= c[i] < 58:
            digits += 1
        elif is_alnum(c[i]):
            letters += 1
            turns += i > 0 and c[i] < 91 and 97 <= c[i - 1] < 123
        elif joints[c[i]] and i + 1 < n and is_alnum(c[i + 1]) and (c[i] == 95 or (i > 0 and is_alnum(c[i - 1]))):
            return True
        elif c[i] == 40 and i > 0 and is_alnum(c[i - 1]) and (i + 1 == n or c[i + 1] < 48):
            return True
    return turns > 1 or (digits > 1 and letters > 1 and n > 5)


cdef uint64_t packed_of(const uint32_t* c, int64_t n) noexcept nogil:
    # The token as a number if it is a word of up to 8 letters in lower case, signs around it aside; else 0.
    cdef int64_t i, size = 0
    cdef uint64_t packed = 0
    for i in range(n):
        if 97 <= c[i] < 123:
            if size == 8 or (size and not 97 <= c[i - 1] < 123):
                return 0
            packed = packed << 8 | c[i]
            size += 1
        elif c[i] >= 128 or is_alnum(c[i]):
            return 0
    return packed


cdef bint is_noise(const Points* t, const uint32_t* raw, int64_t num) noexcept nogil:
    """Addresses, paths, code, hashes, base64: letters and signs that speak for noise are as many as other letters."""
    cdef int64_t i = 0, start, letters, visible = 0, odd = 0, plain = 0, sign_letters = 0, weak = 0, keys = 0
    cdef int strength
    cdef bint starts = False
    cdef uint32_t last = 32
    while i < num:
        start, letters = i, 0
        while i < num and not flags_of(t, raw[i]) & SPACE:
            letters += raw[i] >= 128 or (raw[i] >= 65 and is_alnum(raw[i]))
            sign_letters += signs[raw[i]] if raw[i] < 128 else 0
            i += 1
        if i > start:
            strength = strength_of(packed_of(raw + start, i - start)) if letters <= 8 else 0
            keys += PER_KEYWORD * ((strength > 0) + (strength == STRONG or (strength > 0 and visible == 0)))
            starts = starts or (visible == 0 and strength > 0)
            visible += i - start
            last = raw[i - 1]
            odd += PER_END * (last == 61 and letters == 0)  # = with a space before it
            if strength == WEAK:
                weak += letters
            elif strength == STRONG or is_odd(raw + start, i - start):
                odd += letters
            else:
                plain += letters
        i += 1
    odd += sign_letters - PER_SIGN * (sign_letters > PER_SIGN)  # one sign says little
    odd += PER_END * (last == 59 or last == 123 or last == 125 or last == 40 or (last == 58 and starts))
    if odd > 0:
        odd += weak + keys
    else:
        plain += weak
    return visible >= LEAST_VISIBLE and odd > 0 and odd >= plain
