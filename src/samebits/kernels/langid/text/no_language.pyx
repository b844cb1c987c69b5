"""Texts that are in no language, told by their signs: addresses, paths, code, hashes, base64.

Letters of tokens that no prose has (``a/b``, ``aCamelCase``, ``x9f3a``) and signs of code speak for noise, all other letters
against it. Keywords of code are words of many languages, and names have capitals inside (``YouTube``, ``kwaZulu``), so most of
these count only beside such signs. Only ASCII is looked at: other scripts write signs between letters without spaces.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from samebits.kernels.langid.text.unicode cimport SPACE, Points, flags_of

cdef enum:
    SLOTS = 128
    PER_SIGN = 4  # letters
    PER_END = 6
    PER_KEYWORD = 3
    PER_ASSIGNMENT = 18  # = or += between spaces
    PER_BRACKET = 14  # one that was never opened
    PER_STRING = 5  # from the second on: quote and comma, colon or bracket
    PER_IMPORT = 100  # import a, from a import b
    LEAST_VISIBLE = 5
    STRONG = 1
    WEAK = 2

cdef uint64_t keywords[SLOTS]
cdef int strengths[SLOTS]
cdef bint joints[128]
cdef uint64_t FROM = 0x66726F6D, IMPORT = 0x696D706F7274, RETURN = 0x72657475726E
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
    if n > 3 and c[0] == 48 and c[1] == 120:  # 0x
        return True
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


cdef bint is_name(const uint32_t* c, int64_t n) noexcept nogil:
    """Whether a token may be a name in code or in prose: a capital after a small letter, or capitals before two small ones."""
    cdef int64_t i, capitals = 0, small = 0
    for i in range(n):
        if 65 <= c[i] < 91:
            if small:
                return True
            capitals += 1
        elif 97 <= c[i] < 123:
            small += 1
            if small > 1 and capitals > 1:
                return True
        else:
            capitals = small = 0
    return False


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


cdef bint is_constant(const uint32_t* c, int64_t n) noexcept nogil:
    """Whether a token is a number or a keyword, also with a capital: what code returns and no prose does."""
    cdef int64_t i
    cdef uint64_t packed = 0
    for i in range(n):
        if 48 <= c[i] < 58:
            continue
        if i > 7 or not 97 <= c[i] | 32 < 123:
            return False
        packed = packed << 8 | (c[i] | 32)
    return packed == 0 or strength_of(packed) > 0


cdef inline bint is_quote(uint32_t c) noexcept nogil:
    return c == 34 or c == 39


cdef int ending_of(const uint32_t* raw, int64_t num, int64_t unclosed, bint starts) noexcept nogil:
    """How much the end of a text speaks for code: ``;``, an open bracket, one closed too often, a closed string before a sign."""
    cdef uint32_t last = raw[num - 1], before = raw[num - 2] if num > 1 else 32
    if last == 59 or last == 123 or last == 125 or last == 40 or (last == 58 and starts):
        return PER_END
    if last == 41 and unclosed < 0 and before != 58 and before != 59 and before != 45:  # no smiley
        return PER_BRACKET
    return PER_END * (is_quote(before) and (last == 44 or last == 41 or last == 93))


cdef bint is_noise(const Points* t, const uint32_t* raw, int64_t num) noexcept nogil:
    """Addresses, paths, code, hashes, base64: letters and signs that speak for noise are as many as other letters."""
    cdef int64_t i = 0, start, end = 0, letters, visible = 0, odd = 0, plain = 0, sign_letters = 0, weak = 0, keys = 0
    cdef int64_t names = 0, strings = 0, unclosed = 0, assigned, tokens = 0
    cdef int strength
    cdef uint64_t packed
    cdef bint starts = False, is_from = False, is_import = False, is_return = False, is_given = False
    cdef bint opens = False, is_string = False
    while i < num:
        start, letters, assigned = i, 0, 0
        while i < num and not flags_of(t, raw[i]) & SPACE:
            letters += raw[i] >= 128 or (raw[i] >= 65 and is_alnum(raw[i]))
            sign_letters += signs[raw[i]] if raw[i] < 128 else 0
            unclosed += (raw[i] == 40) - (raw[i] == 41)
            assigned += raw[i] == 61
            strings += i > start and is_quote(raw[i - 1]) and (raw[i] == 44 or raw[i] == 58 or raw[i] == 41 or raw[i] == 93)
            i += 1
        if i > start:
            packed = packed_of(raw + start, i - start) if letters <= 8 else 0
            strength = strength_of(packed)
            keys += PER_KEYWORD * ((strength > 0) + (strength == STRONG or (strength > 0 and visible == 0)))
            starts = starts or (visible == 0 and strength > 0)
            is_from = is_from or (tokens == 0 and packed == FROM)
            odd += PER_IMPORT * (is_from and tokens == 2 and packed == IMPORT)
            is_import = is_import or (tokens == 0 and packed == IMPORT)
            is_return = is_return or (tokens == 0 and packed == RETURN)
            is_given = is_return and tokens == 1 and is_constant(raw + start, i - start)
            if tokens == 0:
                opens = is_quote(raw[start]) or raw[start] == 40 or raw[start] == 91
                is_string = is_quote(raw[start]) and i - start > 3 and is_quote(raw[i - 2])
                odd += letters * (is_string and raw[i - 1] == 58)  # a key
            visible += i - start
            tokens += 1
            end = i
            odd += PER_ASSIGNMENT * (assigned > 0 and letters == 0)
            if strength == WEAK:
                weak += letters
            elif strength == STRONG or is_odd(raw + start, i - start):
                odd += letters
            elif is_name(raw + start, i - start):
                names += letters
            else:
                plain += letters
        i += 1
    odd += PER_IMPORT * ((is_import or is_given) and tokens == 2) + PER_STRING * opens * max(strings - 1, 0)
    odd += PER_IMPORT * (is_string and tokens == 1 and raw[end - 1] == 44)  # a string before a comma
    odd += sign_letters - PER_SIGN * (sign_letters > PER_SIGN)  # one sign says little
    odd += ending_of(raw, end, unclosed, starts) if end > 0 else 0
    if odd > 0:
        odd += weak + keys
    else:
        plain += weak
    if odd >= PER_END:
        odd += names
    else:
        plain += names
    return visible >= LEAST_VISIBLE and odd > 0 and odd >= plain
