"""Texts that are in no language, told by their signs: addresses, paths, code, hashes, base64.

Letters of tokens that no prose has (``a/b``, ``aCamelCase``, ``x9f3a``) and signs of code speak for noise, all other letters
against it. Keywords of code are words of many languages, and names have capitals inside (``YouTube``, ``kwaZulu``), so most of
these count only beside such signs. Only ASCII is looked at: other scripts write signs between letters without spaces.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from samebits.kernels.langid.text.unicode cimport SPACE, Points, flags_of

cdef enum:
    SLOTS = 128
    PER_SIGN = 4  # letters
    PER_END = 6
    PER_KEYWORD = 3
    PER_ASSIGNMENT = 18  # = or += between spaces
    PER_BRACKET = 14  # one that was never opened
    PER_STRING = 5  # from the second on: quote and comma, colon or bracket
    PER_IMPORT = 100  # import a, from a import b, return a, b
    PER_LITERAL = 60  # a call or a setting with a string, where a text begins
    LEAST_VISIBLE = 5
    STRONG = 1
    WEAK = 2

cdef struct Line:  # a text, as far as it was read; letters are counted
    int64_t tokens
    int64_t visible  # characters
    int64_t odd  # speak for noise
    int64_t plain  # and against it
    int64_t weak  # of keywords that are words too, and of names: they go with the others
    int64_t names
    int64_t keys
    int64_t signs
    int64_t strings  # that end before a sign
    int64_t unclosed  # brackets
    int64_t commas  # tokens that end with one
    uint64_t first  # the first token, if it is a short word
    bint opens  # begins with a quote or a bracket
    bint is_string  # begins with a token in quotes
    bint is_call  # begins with a name and an open bracket
    bint is_given  # the second token is what code returns or raises
    bint is_property  # begins with small letters and a colon
    bint is_foreign  # has letters beyond ASCII
    bint is_capital  # begins with a word in small letters, its first one large
    int64_t assigned  # = between spaces

cdef uint64_t keywords[SLOTS]
cdef int strengths[SLOTS]
cdef bint joints[128]
cdef uint64_t FROM = 0x66726F6D, IMPORT = 0x696D706F7274, RETURN = 0x72657475726E
cdef uint64_t RAISE = 0x7261697365, YIELD = 0x7969656C64
cdef bint plain_signs[128]  # letters and digits: most of a text
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
    cdef int strength, number
    for strength, words in (
        (STRONG, b"typedef struct unsigned extern elif printf sizeof nullptr enum endif ifdef ifndef define include"),
        (WEAK, b"return if for while else from class try new case with public private static break continue raise "
               b"throw import def var let const int char void function async await except float double long bool auto "
               b"switch default pass in is not and or self this null none true false select where as do end then echo yield assert"),
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
    for number in range(128):
        plain_signs[number] = is_alnum(number)
    for letter in b"{}[]<>=_\\|*^~":
        signs[letter] = 2 * PER_SIGN
    for letter in b";&+%$#@":  # prose has them too
        signs[letter] = PER_SIGN
    return 0


fill_tables()


cdef inline bint is_alnum(uint32_t c) noexcept nogil:
    return 48 <= c < 58 or 65 <= c < 91 or 97 <= c < 123


cdef inline bint is_quote(uint32_t c) noexcept nogil:
    return c == 34 or c == 39


cdef inline bint closes(uint32_t c) noexcept nogil:
    return is_quote(c) or c == 41 or c == 93


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
        elif c[i] == 36 and i + 1 < n and (97 <= c[i + 1] < 123 or c[i + 1] == 40 or c[i + 1] == 123):  # $name
            return True
        elif c[i] == 44 and 0 < i < n - 1 and closes(c[i - 1]) and c[i + 1] < 48:  # 'a','b'
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


cdef bint is_simple(const uint32_t* c, int64_t n) noexcept nogil:
    """Whether a token is of small letters or none of ASCII, perhaps with a capital before and a stop behind: neither odd nor a name."""
    cdef int64_t i
    for i in range(n):
        if not (97 <= c[i] < 123 or c[i] >= 128 or (i == 0 and 65 <= c[i] < 91)):
            return i > 0 and i == n - 1 and (c[i] == 44 or c[i] == 46 or c[i] == 58 or c[i] == 59 or c[i] == 33 or c[i] == 63)
    return True


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
    """Whether a token is a number, a letter or a keyword, also with a capital: what code returns and no prose does."""
    cdef int64_t i
    cdef uint64_t packed = 0
    for i in range(n):
        if 48 <= c[i] < 58 or (c[i] == 46 and i + 1 < n):
            continue
        if i > 7 or not 97 <= c[i] | 32 < 123:
            return False
        packed = packed << 8 | (c[i] | 32)
    return packed == 0 or n == 1 or strength_of(packed) > 0


cdef bint has_literal(const uint32_t* c, int64_t n) noexcept nogil:
    """Whether a string begins inside a token, behind a name and ``(``, ``=`` or both; or at its start, behind a prefix (``f"``)."""
    cdef int64_t i
    for i in range(2, n):
        if is_quote(c[i]) and (c[i - 1] == 40 or c[i - 1] == 61) and (is_alnum(c[i - 2]) or c[i - 2] == 95 or c[i - 2] == 61):
            return True
    return n > 2 and c[1] == 34 and (c[0] == 102 or c[0] == 98 or c[0] == 114)  # f, b, r


cdef int ending_of(const Line* line, const uint32_t* raw, int64_t num) noexcept nogil:
    """How much the end of a text speaks for code: ``;``, an open bracket, one closed too often, a closed string before a sign."""
    cdef uint32_t last = raw[num - 1], before = raw[num - 2] if num > 1 else 32
    if last == 58 and before == 41 and line.unclosed < 0 and num > 2 and (is_alnum(raw[num - 3]) or is_quote(raw[num - 3])):
        return PER_BRACKET + PER_END  # ):
    if (last == 123 and not line.is_foreign) or (last == 59 and line.is_property):
        return PER_BRACKET + PER_END
    if last == 59 or last == 123 or last == 125 or last == 40 or (last == 58 and strength_of(line.first)):
        return PER_END
    if last == 41 and line.unclosed < 0 and before != 58 and before != 59 and before != 45:  # no smiley
        return PER_BRACKET
    if last == 44 and (is_quote(before) or line.unclosed > 0):
        return PER_END
    return PER_END * (is_quote(before) and (last == 41 or last == 93))


cdef bint is_sentence(const Line* line, const uint32_t* raw, int64_t end) noexcept nogil:
    """``The value of x = 5 is small.``: a capital, at least four words more, a full stop."""
    cdef uint32_t last = raw[end - 1]
    return line.is_capital and line.tokens > 4 and (last == 46 or last == 33 or last == 63) and is_alnum(raw[end - 2])


cdef bint is_listing(const Line* line) noexcept nogil:
    """``import a, b``, ``return a, b``, ``f(a, b)``: one word or name, then nothing but a list."""
    if line.first == IMPORT or line.first == RETURN or line.first == YIELD:
        return line.tokens == line.commas + 2 and (line.commas > 0 or line.first == IMPORT)
    return line.is_call and line.commas > 0 and line.tokens == line.commas + 1


cdef void read_first(Line* line, const uint32_t* c, int64_t n, int64_t letters) noexcept nogil:
    """Look at the first token of a text."""
    cdef int64_t i
    line.opens = is_quote(c[0]) or c[0] == 40 or c[0] == 91
    line.is_string = is_quote(c[0]) and n > 3 and is_quote(c[n - 2])
    line.odd += letters * (line.is_string and c[n - 1] == 58)  # a key
    line.odd += PER_ASSIGNMENT * (n > 3 and c[0] == 48 and c[1] == 120 and c[n - 1] == 58)  # 0x1f:
    line.is_capital = n > 1 and 65 <= c[0] < 91 and is_simple(c, n)
    line.is_property = n > 2 and c[n - 1] == 58
    for i in range(n - 1):
        line.is_property = line.is_property and (97 <= c[i] < 123 or c[i] == 45)
    for i in range(1, n - 1):
        line.is_call = line.is_call or (c[i] == 40 and is_alnum(c[i - 1]) and line.unclosed == 1)


cdef void read_token(Line* line, const uint32_t* c, int64_t n, int64_t letters) noexcept nogil:
    """Add the letters of a token to those they belong to."""
    cdef uint64_t packed = packed_of(c, n) if letters <= 8 else 0
    cdef int strength = strength_of(packed)
    if line.tokens == 0:
        line.first = packed if c[n - 1] != 44 else 0
        read_first(line, c, n, letters)
    line.keys += PER_KEYWORD * ((strength > 0) + (strength == STRONG or (strength > 0 and line.tokens == 0)))
    if line.tokens < 2 and has_literal(c, n):
        line.odd += PER_LITERAL
    if line.tokens == 1:
        line.odd += PER_LITERAL * (line.first == RETURN and (is_quote(c[0]) or (n > 1 and c[0] == 40 and is_quote(c[1]))))
        line.is_given = (line.first == RAISE and is_name(c, n)) or (line.first == RETURN and is_constant(c, n))
    line.odd += PER_IMPORT * (line.first == FROM and line.tokens == 2 and packed == IMPORT)
    line.commas += c[n - 1] == 44 and n > 1
    line.tokens += 1
    line.visible += n
    if strength == WEAK:
        line.weak += letters
    elif strength == 0 and is_simple(c, n):
        line.plain += letters
    elif strength == STRONG or is_odd(c, n):
        line.odd += letters
    elif is_name(c, n):
        line.names += letters
    else:
        line.plain += letters


cdef bint is_code(const Line* line, const uint32_t* raw, int64_t end) noexcept nogil:
    """Whether letters and signs that speak for noise are as many as other letters, in what was read so far."""
    cdef int64_t odd = line.odd, plain = line.plain, marks = line.signs
    if is_sentence(line, raw, end):
        marks = max(marks - 2 * PER_SIGN * line.assigned, 0)
    else:
        odd += PER_ASSIGNMENT * line.assigned
    odd += PER_IMPORT * ((line.is_given and line.tokens == 2) or is_listing(line))
    odd += PER_STRING * line.opens * max(line.strings - 1, 0)
    odd += PER_IMPORT * (line.is_string and line.tokens == 1 and raw[end - 1] == 44)  # a string before a comma
    odd += marks - PER_SIGN * (marks > PER_SIGN)  # one sign says little
    odd += ending_of(line, raw, end)
    if odd > 0:
        odd += line.weak + line.keys
    else:
        plain += line.weak
    if odd >= PER_END:
        odd += line.names
    else:
        plain += line.names
    return line.visible >= LEAST_VISIBLE and odd > 0 and odd >= plain


cdef bint ends_code(const Line* line, const uint32_t* raw, int64_t end, int64_t start, int64_t n) noexcept nogil:
    """Whether a token at ``start`` begins a comment, behind code that ends at ``end``."""
    cdef const uint32_t* c = raw + start
    if not ((n == 1 and c[0] == 35) or (n == 2 and c[0] == 47 and c[1] == 47)):  # # or //
        return False
    return is_code(line, raw, end) or (start > end + 1 and strength_of(line.first) > 0)


cdef bint is_noise(const Points* t, const uint32_t* raw, int64_t num) noexcept nogil:
    """Addresses, paths, code, hashes, base64; a comment behind code is not looked at."""
    cdef int64_t i = 0, start, end = 0, letters, assigned, sign_letters
    cdef Line line
    memset(&line, 0, sizeof(Line))
    while i < num:
        start, letters, assigned, sign_letters = i, 0, 0, 0
        while i < num and not (raw[i] == 32 or flags_of(t, raw[i]) & SPACE):
            if raw[i] < 128 and plain_signs[raw[i]]:
                letters += raw[i] >= 65
                i += 1
                continue
            letters += raw[i] >= 128 or (raw[i] >= 65 and is_alnum(raw[i]))
            line.is_foreign = line.is_foreign or raw[i] >= 128
            sign_letters += signs[raw[i]] if raw[i] < 128 else 0
            line.unclosed += (raw[i] == 40) - (raw[i] == 41)
            assigned += raw[i] == 61
            line.strings += i > start and is_quote(raw[i - 1]) and (
                raw[i] == 44 or raw[i] == 58 or raw[i] == 41 or raw[i] == 93
            )
            i += 1
        if i > start:
            if line.tokens and ends_code(&line, raw, end, start, i - start):
                return True
            line.signs += sign_letters
            read_token(&line, raw + start, i - start, letters)
            line.assigned += assigned > 0 and letters == 0
            end = i
        i += 1
    return line.tokens > 0 and is_code(&line, raw, end)
