"""What the reference cleaner takes out of a text before normalising it: emoji, mentions, tags and addresses.

Each function is one regular expression of unscript 0.1.3 as a loop over code points, in place; the comment is the
expression. They run in a fixed order, because one removal can make room for the next.
"""

from libc.stdint cimport int64_t, uint32_t

from samebits.kernels.langid.text.unicode cimport ALNUM, EMOJI, SPACE, WORD, Points, flags_of

cdef enum:
    KEYCAP = 0x20E3
    VARIATION = 0xFE0F
    PREFIX = 1 << 16  # one of @ + #: these three bits live above those of Points.flags
    COLON = 1 << 17
    DOT = 1 << 18


cdef inline bint is_letter(uint32_t c) noexcept nogil:
    return 65 <= c <= 90 or 97 <= c <= 122


cdef int64_t remove_keycaps(uint32_t* a, int64_t n) noexcept nogil:
    # [#-9] VARIATION? KEYCAP
    cdef int64_t i = 0, j, o = 0
    while i < n:
        if 0x23 <= a[i] <= 0x39:
            j = i + 1
            if j < n and a[j] == VARIATION:
                j += 1
            if j < n and a[j] == KEYCAP:
                i = j + 1
                continue
        a[o] = a[i]
        o += 1
        i += 1
    return o


cdef int64_t remove_emoji(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    cdef int64_t i, o = 0
    for i in range(n):
        if not flags_of(t, a[i]) & EMOJI:
            a[o] = a[i]
            o += 1
    return o


cdef int64_t remove_prefixed(const Points* t, uint32_t* a, int64_t n, uint32_t mark, bint twice) noexcept nogil:
    # mark{1,2}[A-Za-z0-9_]+ (twice) or mark[A-Za-z0-9_]+
    cdef int64_t i = 0, j, o = 0
    while i < n:
        if a[i] == mark:
            j = i + 1
            if twice and j < n and a[j] == mark:
                j += 1
            if j < n and flags_of(t, a[j]) & ALNUM:
                while j < n and flags_of(t, a[j]) & ALNUM:
                    j += 1
                i = j
                continue
        a[o] = a[i]
        o += 1
        i += 1
    return o


cdef int64_t remove_addresses(const Points* t, uint32_t* a, int64_t n, int kind) noexcept nogil:
    # kind 0: https?://\S+   1: ftp://\S+   2: www\.\S+
    cdef int64_t i = 0, j, o = 0
    while i < n:
        j = n
        if kind == 0 and a[i] == 104:
            if follows(a, i, n, b"http://"):
                j = i + 7
            elif follows(a, i, n, b"https://"):
                j = i + 8
        elif kind == 1 and a[i] == 102 and follows(a, i, n, b"ftp://"):
            j = i + 6
        elif kind == 2 and a[i] == 119 and follows(a, i, n, b"www."):
            j = i + 4
        if j < n and not flags_of(t, a[j]) & SPACE:
            while j < n and not flags_of(t, a[j]) & SPACE:
                j += 1
            i = j
            continue
        a[o] = a[i]
        o += 1
        i += 1
    return o


cdef int64_t remove_emails(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    # \S+@\S+\.\S+ always takes the rest of its run of non-spaces, so only "is there one" matters.
    cdef int64_t i = 0, j, k, at, o = 0
    cdef bint found
    while i < n:
        if flags_of(t, a[i]) & SPACE:
            a[o] = a[i]
            o += 1
            i += 1
            continue
        j = i
        while j < n and not flags_of(t, a[j]) & SPACE:
            j += 1
        at = -1
        found = False
        for k in range(i + 1, j - 1):
            if at < 0:
                if a[k] == 64:
                    at = k
            elif a[k] == 46 and k >= at + 2:
                found = True
                break
        if not found:
            for k in range(i, j):
                a[o] = a[k]
                o += 1
        i = j
    return o


cdef int64_t remove_domains(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    # \b[a-zA-Z]+\.[a-zA-Z]{2,}\b
    cdef int64_t i = 0, j, k, q, o = 0
    cdef bint after_word = False
    while i < n:
        if not is_letter(a[i]) or after_word:
            after_word = (flags_of(t, a[i]) & WORD) != 0
            a[o] = a[i]
            o += 1
            i += 1
            continue
        j = i
        while j < n and is_letter(a[j]):
            j += 1
        after_word = True
        if j < n and a[j] == 46:
            k = j + 1
            while k < n and is_letter(a[k]):
                k += 1
            if k - j > 2 and (k == n or not flags_of(t, a[k]) & WORD):
                i = k
                continue
        for q in range(i, j):
            a[o] = a[q]
            o += 1
        i = j
    return o


cdef int64_t remove_noise(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    """All removals in the reference's order, in place; each only when the row holds a character it starts from."""
    cdef int64_t i
    cdef uint32_t seen = 0
    for i in range(n):
        seen |= flags_of(t, a[i])
        if a[i] == 64 or a[i] == 43 or a[i] == 35:
            seen |= PREFIX
        elif a[i] == 58:
            seen |= COLON
        elif a[i] == 46:
            seen |= DOT
    if seen & EMOJI:
        n = remove_emoji(t, a, remove_keycaps(a, n))
    if seen & PREFIX:
        n = remove_prefixed(t, a, n, 64, True)
        n = remove_prefixed(t, a, n, 43, False)
        n = remove_prefixed(t, a, n, 35, False)
    if seen & COLON:
        n = remove_addresses(t, a, n, 0)
        n = remove_addresses(t, a, n, 1)
    if seen & DOT:
        n = remove_addresses(t, a, n, 2)
        n = remove_emails(t, a, n)
        n = remove_domains(t, a, n)
    return n
