"""Right-to-left scripts: logical to display order, and joined letter forms.

``visual_order`` is the implicit part of the Unicode Bidirectional Algorithm (UAX #9: W1-W7, N0-N2, I1, L1, L2, L4)
for paragraphs with a left-to-right base: what a display without bidi support had to be given. Explicit
embeddings and isolates are not resolved: the legacy pages this serves hold none of those control characters. Classes and mirrored characters come in as tables.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef enum Bidi:
    # The order is the contract with the tables made in samebits.charset.recipes.rtl.
    L = 0
    R = 1
    AL = 2
    EN = 3
    AN = 4
    ES = 5
    ET = 6
    CS = 7
    NSM = 8
    BN = 9
    B = 10
    S = 11
    WS = 12
    ON = 13

cdef enum Joining:
    JOINS_NOT = 0
    JOINS_RIGHT = 1   # to the letter before it only
    JOINS_BOTH = 2
    IS_TRANSPARENT = 3


cdef void resolve_weak(uint8_t* t, int64_t n) noexcept nogil:
    """W1-W7: marks, numbers and their signs; afterwards only L, R, EN, AN and neutrals are left."""
    cdef int64_t i, j
    cdef uint8_t strong = L, before = L
    for i in range(n):
        if t[i] == NSM:
            t[i] = before
        before = t[i]
        if t[i] == L or t[i] == R or t[i] == AL:
            strong = t[i]
        elif t[i] == EN and strong == AL:
            t[i] = AN
    for i in range(n):
        if t[i] == AL:
            t[i] = R
    for i in range(1, n - 1):
        if t[i - 1] == t[i + 1] and (
            (t[i - 1] == EN and (t[i] == ES or t[i] == CS)) or (t[i - 1] == AN and t[i] == CS)
        ):
            t[i] = t[i - 1]
    i = 0
    while i < n:
        if t[i] == ET:
            j = i
            while j < n and t[j] == ET:
                j += 1
            if (i > 0 and t[i - 1] == EN) or (j < n and t[j] == EN):
                while i < j:
                    t[i] = EN
                    i += 1
            i = j
        else:
            i += 1
    strong = L
    for i in range(n):
        if t[i] == ES or t[i] == ET or t[i] == CS:
            t[i] = ON
        elif t[i] == L or t[i] == R:
            strong = t[i]
        elif t[i] == EN and strong == L:
            t[i] = L


cdef inline uint32_t closer_of(uint32_t c) noexcept nogil:
    return 41 if c == 40 else 93 if c == 91 else 125 if c == 123 else 0  # ( [ {


cdef void match_brackets(const uint8_t* t, const uint32_t* text, int64_t n, int64_t* closing) noexcept nogil:
    """For each opening bracket the place of its closing one, else 0; UAX #9 stops at 63 open brackets."""
    cdef int64_t[63] stack
    cdef int64_t i, depth = 0, d
    for i in range(n):
        closing[i] = 0
    for i in range(n):
        if t[i] != ON:
            continue
        if closer_of(text[i]) != 0:
            if depth == 63:
                return
            stack[depth] = i
            depth += 1
        elif text[i] == 41 or text[i] == 93 or text[i] == 125:
            for d in range(depth - 1, -1, -1):
                if closer_of(text[stack[d]]) == text[i]:
                    closing[stack[d]] = i
                    depth = d
                    break


cdef void resolve_brackets(uint8_t* t, const uint32_t* text, int64_t n, int64_t* closing) noexcept nogil:
    """N0: a pair with a left-to-right character inside lies left-to-right, else as what stands before it."""
    cdef int64_t i, j
    cdef bint has_ltr, has_rtl, rtl_before = False
    match_brackets(t, text, n, closing)
    for i in range(n):
        if closing[i] > 0 and t[i] == ON:
            has_ltr = has_rtl = False
            for j in range(i + 1, closing[i]):
                has_ltr |= t[j] == L
                has_rtl |= t[j] == R or t[j] == EN or t[j] == AN
                if has_ltr:
                    break
            if has_ltr or has_rtl:
                t[i] = t[closing[i]] = R if rtl_before and not has_ltr else L
        if t[i] <= AN:
            rtl_before = t[i] != L


cdef void resolve_neutral(uint8_t* t, int64_t n) noexcept nogil:
    """N1, N2, then levels (I1): a neutral between two right-to-left characters (or numbers) joins them."""
    cdef int64_t i = 0, j
    cdef bint rtl_before = False, rtl_after
    while i < n:
        if t[i] <= AN:
            rtl_before = t[i] != L
            i += 1
            continue
        j = i
        while j < n and t[j] > AN:
            j += 1
        rtl_after = j < n and t[j] != L
        while i < j:
            t[i] = R if rtl_before and rtl_after else L
            i += 1
    for i in range(n):
        t[i] = 0 if t[i] == L else 1 if t[i] == R else 2


cdef void reset_edges(uint8_t* level, const uint32_t* text, const uint8_t* classes, int64_t n) noexcept nogil:
    """L1: separators, and whitespace before them or at the end, lie in the base direction."""
    cdef int64_t i
    cdef bint at_end = True
    cdef uint8_t k
    for i in range(n - 1, -1, -1):
        k = classes[text[i]]
        if k == S or k == B:
            level[i] = 0
            at_end = True
        elif at_end and (k == WS or k == BN):
            level[i] = 0
        else:
            at_end = False


cdef void reverse_runs(uint32_t* text, uint8_t* level, int64_t n, uint8_t lowest) noexcept nogil:
    """L2: reverse every stretch whose level is at least ``lowest``; levels travel along."""
    cdef int64_t i = 0, j, a, b
    cdef uint32_t c
    cdef uint8_t k
    while i < n:
        if level[i] < lowest:
            i += 1
            continue
        j = i
        while j < n and level[j] >= lowest:
            j += 1
        a = i
        b = j - 1
        while a < b:
            c = text[a]
            text[a] = text[b]
            text[b] = c
            k = level[a]
            level[a] = level[b]
            level[b] = k
            a += 1
            b -= 1
        i = j


cdef void order_paragraph(
    uint32_t* text, uint8_t* level, int64_t* closing, int64_t n, const uint8_t* classes, const uint32_t* mirror
) noexcept nogil:
    cdef int64_t i
    cdef bint any_rtl = False
    for i in range(n):
        level[i] = classes[text[i]]
        any_rtl |= level[i] == R or level[i] == AL or level[i] == AN
    if not any_rtl:
        return
    for i in range(1, n):
        if level[i] == BN:
            level[i] = level[i - 1]  # ignored by the rules: goes where the character before it goes
    if level[0] == BN:
        level[0] = ON
    resolve_weak(level, n)
    resolve_brackets(level, text, n, closing)
    resolve_neutral(level, n)
    reset_edges(level, text, classes, n)
    for i in range(n):
        if level[i] == 1 and mirror[text[i]] != 0:
            text[i] = mirror[text[i]]
    reverse_runs(text, level, n, 2)
    reverse_runs(text, level, n, 1)


def visual_order(uint32_t[::1] text, const uint8_t[::1] classes, const uint32_t[::1] mirror):
    """Put code points into display order, in place, paragraph by paragraph.

    Args:
        text: Code points below ``len(classes)``.
        classes: Bidi class per code point.
        mirror: Per code point the one with the mirrored shape, 0 for none.
    """
    cdef int64_t n = text.shape[0], i, start = 0
    if n == 0:
        return
    if np.max(text) >= min(classes.shape[0], mirror.shape[0]):
        raise ValueError("a code point lies outside the class tables")
    cdef uint8_t* level = <uint8_t*>malloc(n)
    cdef int64_t* closing = <int64_t*>malloc(n * sizeof(int64_t))
    if level == NULL or closing == NULL:
        free(level)
        free(closing)
        raise MemoryError(f"no memory for {n} levels")
    with nogil:
        for i in range(n):
            if classes[text[i]] == B:
                order_paragraph(&text[start], level, closing, i - start, &classes[0], &mirror[0])
                start = i + 1
        if start < n:
            order_paragraph(&text[start], level, closing, n - start, &classes[0], &mirror[0])
    free(level)
    free(closing)


def join_letters(uint32_t[::1] text, const uint8_t[::1] joining, const uint32_t[:, ::1] forms):
    """Replace letters by their contextual forms, in place.

    Args:
        text: Code points in logical order.
        joining: Per code point how it joins; code points beyond the table do not.
        forms: Per code point its isolated, final, initial and medial form, 0 where there is none.
    """
    cdef int64_t n = text.shape[0], i, j
    cdef uint32_t size = <uint32_t>min(joining.shape[0], forms.shape[0])
    cdef uint8_t kind, following
    cdef uint32_t shaped
    cdef bint before, after
    cdef bint open_join = False  # whether the last letter, marks aside, joins to what follows
    assert forms.shape[1] == 4
    with nogil:
        for i in range(n):
            kind = joining[text[i]] if text[i] < size else JOINS_NOT
            if kind == IS_TRANSPARENT:
                continue
            before = open_join and kind != JOINS_NOT
            after = False
            if kind == JOINS_BOTH:
                j = i + 1
                following = JOINS_NOT
                while j < n:
                    following = joining[text[j]] if text[j] < size else JOINS_NOT
                    if following != IS_TRANSPARENT:
                        break
                    j += 1
                after = j < n and (following == JOINS_RIGHT or following == JOINS_BOTH)
            open_join = kind == JOINS_BOTH
            if kind != JOINS_NOT:
                shaped = forms[text[i], <int>before + 2 * <int>after]
                if shaped != 0:
                    text[i] = shaped
