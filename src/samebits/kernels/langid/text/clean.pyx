"""What unscript 0.1.3 makes of a text, on code points, quirk for quirk (exact mode needs its results bit for bit).

Order of the steps: dominant script of the raw text; keycaps and emoji out; ``@``, ``+`` and ``#`` words out; URLs,
e-mail addresses and bare domains out; NFD; lower case (not for Arabic); runs of three or more equal characters cut to
two; white space collapsed; everything outside the script, digits and spaces becomes a space, except inside decimal
numbers. Each function below is one of the reference's regular expressions as a loop; its comment is the expression.

``clean_points`` works in place on a ``Scratch``: the row comes in ``a`` (destroyed), the result is left in ``b``.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from samebits.kernels.langid.text.noise cimport follows, remove_noise
from samebits.kernels.langid.text.unicode cimport (
    CASED, DECIMAL, DECOMPOSES, IGNORABLE, SPACE, WORD, Points, decompose, flags_of, record_of,
)

cdef enum:
    LATIN = 0
    ARABIC = 1
    NO_SCRIPT = 255
    NUM_SCRIPTS = 64
    CAPITAL_SIGMA = 0x3A3


cdef int reserve(Scratch* s, int64_t num_bytes) noexcept nogil:
    """Make room for a row of num_bytes bytes; 0 when memory ran out."""
    cdef int64_t size = 4 * num_bytes + 16
    if s.capacity >= num_bytes and s.a != NULL:
        return 1
    release(s)
    s.a = <uint32_t*>malloc(size * sizeof(uint32_t))
    s.b = <uint32_t*>malloc(size * sizeof(uint32_t))
    s.numbers = <int64_t*>malloc(size * sizeof(int64_t))  # start and length of at most size / 4 numbers
    if s.a == NULL or s.b == NULL or s.numbers == NULL:
        release(s)
        return 0
    s.capacity = num_bytes
    return 1


cdef void release(Scratch* s) noexcept nogil:
    """Give the memory back; a released Scratch can be reserved again."""
    free(s.a)
    free(s.b)
    free(s.numbers)
    s.a = NULL
    s.b = NULL
    s.numbers = NULL
    s.capacity = 0


cdef int64_t hundredths(int64_t count, int64_t total) noexcept nogil:
    # The reference compares round(count / total * 100, 2): printf rounds a double the same way.
    cdef char text[32]
    cdef int i, length = snprintf(text, 32, b"%.2f", (<double>count / <double>total) * 100)
    cdef int64_t value = 0
    for i in range(length):
        if 48 <= text[i] <= 57:
            value = 10 * value + text[i] - 48
    return value


cdef int dominant_script(const Points* t, const uint32_t* a, int64_t n) noexcept nogil:
    # The script of most letters, the first seen of equals, if it has 20 % of them; else Latin.
    cdef int64_t counts[NUM_SCRIPTS]
    cdef int order[NUM_SCRIPTS]
    cdef int num_seen = 0, script, k, best = LATIN
    cdef int64_t i, total = 0, share, best_share = -1
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        script = t.script[record_of(t, a[i])]
        if script == NO_SCRIPT:
            continue
        if counts[script] == 0:
            order[num_seen] = script
            num_seen += 1
        counts[script] += 1
        total += 1
    if num_seen == 1:
        return order[0]
    for k in range(num_seen):
        if counts[order[k]] * 10000 < total:  # below min_threshold (0.01 %) the reference forgets a script
            continue
        share = hundredths(counts[order[k]], total)
        if share > best_share:
            best_share = share
            best = order[k]
    return best if best_share >= 2000 else LATIN


cdef uint32_t lower_sigma(const Points* t, const uint32_t* a, int64_t i, int64_t n) noexcept nogil:
    # Final sigma: a cased letter before and none after, letters that do not count skipped.
    cdef int64_t j = i - 1
    while j >= 0 and flags_of(t, a[j]) & IGNORABLE:
        j -= 1
    if j < 0 or not flags_of(t, a[j]) & CASED:
        return 0x3C3
    j = i + 1
    while j < n and flags_of(t, a[j]) & IGNORABLE:
        j += 1
    return 0x3C3 if j < n and flags_of(t, a[j]) & CASED else 0x3C2


cdef void lower(const Points* t, const uint32_t* a, int64_t n, uint32_t* b) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if a[i] == CAPITAL_SIGMA:
            b[i] = lower_sigma(t, a, i, n)
        else:
            b[i] = <uint32_t>(<int64_t>a[i] + t.lower[record_of(t, a[i])])


cdef int64_t collapse(const Points* t, const uint32_t* a, int64_t n, uint32_t* b) noexcept nogil:
    # ([^\d])\1{2,} -> \1\1, then \s+ -> one space, then strip.
    cdef int64_t i = 0, j, o = 0
    cdef uint16_t f
    while i < n:
        f = flags_of(t, a[i])
        if f & DECIMAL:
            b[o] = a[i]
            o += 1
            i += 1
            continue
        j = i + 1
        while j < n and a[j] == a[i]:
            j += 1
        if f & SPACE:
            if o > 0 and b[o - 1] != 32:
                b[o] = 32
                o += 1
        else:
            b[o] = a[i]
            o += 1
            if j - i > 1:
                b[o] = a[i]
                o += 1
        i = j
    return o - 1 if o > 0 and b[o - 1] == 32 else o


cdef bint holds(const Points* t, const uint32_t* a, int64_t n, uint16_t flag) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if flags_of(t, a[i]) & flag:
            return True
    return False


cdef bint only_digits(const Points* t, const uint32_t* b, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if not flags_of(t, b[i]) & DECIMAL:
            return False
    return True


cdef void protect_first(uint32_t* marks, const uint32_t* b, int64_t n, int64_t start, int64_t length) noexcept nogil:
    # str.replace(number, placeholder, 1): the first place the digits occur in text not yet replaced.
    cdef int64_t q, z
    for q in range(n - length + 1):
        z = 0
        while z < length and b[q + z] == b[start + z] and marks[q + z] == 0:
            z += 1
        if z == length:
            for z in range(length):
                marks[q + z] = 1
            return


cdef int64_t protect_decimals(const Points* t, Scratch* s, int64_t n) noexcept nogil:
    # \b\d+[.,]\d+(?:[.,]\d+)*\b; marks go to s.a, the numbers found to s.numbers. Returns how many.
    cdef uint32_t* b = s.b
    cdef int64_t i = 0, j, k, end, num_numbers = 0
    memset(s.a, 0, n * sizeof(uint32_t))
    while i < n:
        if not flags_of(t, b[i]) & DECIMAL or (i > 0 and flags_of(t, b[i - 1]) & WORD):
            i += 1
            continue
        j = i
        while j < n and flags_of(t, b[j]) & DECIMAL:
            j += 1
        end = -1
        k = j
        while k + 1 < n and (b[k] == 46 or b[k] == 44) and flags_of(t, b[k + 1]) & DECIMAL:
            k += 1
            while k < n and flags_of(t, b[k]) & DECIMAL:
                k += 1
            if k == n or not flags_of(t, b[k]) & WORD:
                end = k
        if end > 0:
            protect_first(s.a, b, n, i, end - i)
            s.numbers[2 * num_numbers] = i
            s.numbers[2 * num_numbers + 1] = end - i
            num_numbers += 1
            j = end
        i = j
    return num_numbers


cdef int64_t placeholder(const Scratch* s, int64_t i, int64_t n, int64_t num_numbers, int64_t* end) noexcept nogil:
    # A literal __DECIMAL_k__ in the text is taken for the k-th placeholder; only unlowered (Arabic) text can hold one.
    cdef int64_t k = i + 10, value = 0, digits
    if not follows(s.b, i, n, b"__DECIMAL_"):
        return -1
    digits = k
    while k < n and 48 <= s.b[k] <= 57 and value < num_numbers:
        value = 10 * value + s.b[k] - 48
        k += 1
    if k == digits or (k - digits > 1 and s.b[digits] == 48) or value >= num_numbers or not follows(s.b, k, n, b"__"):
        return -1
    end[0] = k + 2
    return value


cdef int64_t expand_literals(Scratch* s, int64_t n, int64_t num_numbers) noexcept nogil:
    # Put the numbers in the place of such literals, marked as protected. Returns the new length, -1 without memory.
    cdef int64_t i, k, o, number, end = 0, length = n
    cdef Scratch wider
    for i in range(n):
        number = placeholder(s, i, n, num_numbers, &end) if s.a[i] == 0 else -1
        if number >= 0:
            length += s.numbers[2 * number + 1]
    if length == n:
        return n
    memset(&wider, 0, sizeof(wider))
    if not reserve(&wider, length):
        return -1
    i = 0
    o = 0
    while i < n:
        number = placeholder(s, i, n, num_numbers, &end) if s.a[i] == 0 else -1
        if number < 0:
            wider.b[o] = s.b[i]
            wider.a[o] = s.a[i]
            o += 1
            i += 1
            continue
        for k in range(s.numbers[2 * number + 1]):
            wider.b[o] = s.b[s.numbers[2 * number] + k]
            wider.a[o] = 1
            o += 1
        i = end
    release(s)
    s[0] = wider
    return o


cdef bint has_decimals(const Points* t, const uint32_t* b, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(1, n - 1):
        if (b[i] == 46 or b[i] == 44) and flags_of(t, b[i - 1]) & DECIMAL and flags_of(t, b[i + 1]) & DECIMAL:
            return True
    return False


cdef int64_t filter_script(const Points* t, Scratch* s, int64_t n, int script) noexcept nogil:
    # Outside the script, digits, spaces and protected numbers: a space. In place in b; -1 without memory.
    cdef uint64_t bit = (<uint64_t>1) << script
    cdef int64_t i, o = 0, num_numbers
    cdef uint32_t c
    cdef bint marked = has_decimals(t, s.b, n)
    if marked:
        num_numbers = protect_decimals(t, s, n)
        if script == ARABIC:
            n = expand_literals(s, n, num_numbers)
    for i in range(n):
        c = s.b[i]
        if not (marked and s.a[i]) and not t.keep[record_of(t, c)] & bit:
            c = 32
        if c != 32 or (o > 0 and s.b[o - 1] != 32):
            s.b[o] = c
            o += 1
    return o - 1 if o > 0 and s.b[o - 1] == 32 else o if n >= 0 else -1


cdef int64_t clean_points(const Points* t, Scratch* s, int64_t n, int default_script) noexcept nogil:
    """Clean s.a[:n] into s.b; returns the length, -1 when memory ran out. default_script < 0: the dominant one."""
    cdef int script = default_script if default_script >= 0 else dominant_script(t, s.a, n)
    n = remove_noise(t, s.a, n)
    if holds(t, s.a, n, DECOMPOSES):
        n = decompose(t, s.a, n, s.b)
        memcpy(s.a, s.b, n * sizeof(uint32_t))
    if script != ARABIC:
        lower(t, s.a, n, s.b)
        memcpy(s.a, s.b, n * sizeof(uint32_t))
    n = collapse(t, s.a, n, s.b)
    if n == 0 or only_digits(t, s.b, n):
        return 0
    n = filter_script(t, s, n, script)
    return 0 if n > 0 and only_digits(t, s.b, n) else n
