"""Cut a text into pre-tokens as GPT-2 does; inlined into the kernels that train byte pairs and that encode with them.

The expression is the one that ``ByteLevel`` of ``tokenizers`` has built in: contractions; letters, digits or other signs with at
most one space before them; white space. Which character is which comes from the caller, as a table of classes: 0 other,
1 letter, 2 digit, 3 white space.
"""

from libc.stdint cimport int64_t, uint8_t

from samebits.kernels.text.utf8 cimport next_char


cdef inline int class_at(
    const uint8_t* text, int64_t i, int64_t stop, const uint8_t* classes, int64_t* after
) noexcept nogil:
    """The class of the character at ``i``; ``after`` becomes where it ends."""
    if text[i] < 0x80:
        after[0] = i + 1
        return classes[text[i]]
    after[0] = i
    return classes[next_char(text, after, stop)]


cdef inline int64_t contraction(const uint8_t* p, int64_t left) noexcept nogil:
    """Bytes of the contraction that begins at an apostrophe; 0 for none."""
    if left < 2 or p[0] != 39:
        return 0
    if p[1] == 115 or p[1] == 116 or p[1] == 109 or p[1] == 100:  # s t m d
        return 2
    if left < 3:
        return 0
    if p[1] == 108 and p[2] == 108:  # ll
        return 3
    return 3 if p[2] == 101 and (p[1] == 114 or p[1] == 118) else 0  # re ve


cdef inline int64_t cut(const uint8_t* text, int64_t i, int64_t stop, const uint8_t* classes) noexcept nogil:
    """Where the pre-token that begins at ``i`` ends."""
    cdef int64_t after, last, size = contraction(text + i, stop - i)
    cdef int kind, first
    if size:
        return i + size
    first = class_at(text, i, stop, classes, &after)
    if text[i] == 32 and after < stop:
        kind = class_at(text, after, stop, classes, &last)
        if kind != 3:
            first, after = kind, last
    if first != 3:
        while after < stop:
            if text[after] < 0x80:
                if classes[text[after]] != first:
                    return after
                after += 1
            elif class_at(text, after, stop, classes, &last) == first:
                after = last
            else:
                return after
        return after
    last = i  # where the last character of the run of white space begins
    while after < stop:
        size = after
        if class_at(text, after, stop, classes, &after) != 3:
            return last if last > i else size
        last = size
    return stop
