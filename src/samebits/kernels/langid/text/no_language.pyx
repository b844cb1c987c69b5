"""Texts that are in no language, told by their signs: addresses, paths, code, hashes, base64."""

from libc.stdint cimport int64_t, uint16_t, uint32_t

from samebits.kernels.langid.text.unicode cimport ALNUM, DECIMAL, SPACE, Points, flags_of, record_of


cdef inline bint is_joint(uint32_t c) noexcept nogil:
    # Between two letters or digits these are signs of an address, a path or code.
    return (
        c == 46 or c == 47 or c == 92 or c == 95 or c == 61 or c == 64 or c == 58 or c == 43 or c == 38 or c == 37
        or c == 35 or c == 40 or c == 91 or c == 123 or c == 60 or c == 62 or c == 124 or c == 42 or c == 36
    )


cdef inline bint is_code_sign(uint32_t c) noexcept nogil:
    return (
        c == 123 or c == 125 or c == 91 or c == 93 or c == 60 or c == 62 or c == 61 or c == 59 or c == 95 or c == 92
        or c == 124 or c == 38 or c == 42 or c == 43 or c == 37 or c == 36 or c == 35 or c == 64 or c == 94 or c == 126
    )


cdef bint is_noise(const Points* t, const uint32_t* raw, int64_t num) noexcept nogil:
    """Addresses, paths, code, hashes, base64: most letters lie in tokens no prose has, or signs of code abound."""
    cdef int64_t i, letters = 0, odd = 0, signs = 0, visible = 0
    cdef int64_t size = 0, digits = 0, cased = 0, turns = 0, joints = 0
    cdef uint32_t c
    cdef uint16_t flags
    cdef bint upper, was_lower = False, strange
    for i in range(num + 1):
        c = raw[i] if i < num else 32
        flags = flags_of(t, c)
        if flags & SPACE:
            if size:
                strange = joints > 0 or (digits > 1 and cased > 1 and size > 5) or turns > 1
                letters += cased
                odd += cased if strange else 0
            size = digits = cased = turns = joints = 0
            was_lower = False
            continue
        visible += 1
        size += 1
        signs += is_code_sign(c)
        if flags & DECIMAL:
            digits += 1
        elif flags & ALNUM:
            upper = t.fold[record_of(t, c)] != 0
            turns += upper and was_lower
            was_lower = not upper
            cased += 1
        if is_joint(c) and 0 < i < num - 1 and flags_of(t, raw[i - 1]) & ALNUM and not flags_of(t, raw[i + 1]) & SPACE:
            joints += 1
    if visible < 6:
        return False
    return (letters > 0 and 10 * odd >= 6 * letters) or (signs > 1 and 10 * signs >= visible)
