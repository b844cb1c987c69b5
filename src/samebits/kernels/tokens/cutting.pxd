"""Cut a text into pre-tokens as GPT-2 or GPT-4 does; inlined into the kernels that train byte pairs and that encode with them.

``cut`` has the expression that ``ByteLevel`` of ``tokenizers`` has built in: contractions; letters, digits or other signs with at
most one space before them; white space. ``cut_later`` has that of GPT-4 and Llama 3 (digits in threes) and of Qwen 2 (one by one):
contractions in any case, letters with one sign or space before them, signs with the line ends after them. Which character is which comes from the
caller, as a table of classes: 0 other, 1 letter, 2 digit, 3 white space.
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


cdef inline int64_t any_contraction(const uint8_t* p, int64_t left) noexcept nogil:
    """Bytes of the contraction, in small or capital letters, that begins at an apostrophe; 0 for none."""
    cdef uint8_t first, second
    if left < 2 or p[0] != 39:
        return 0
    first = p[1] | 32
    if first == 115 or first == 116 or first == 109 or first == 100:  # s t m d
        return 2
    if left < 3:
        return 0
    if p[1] == 0xC5 and p[2] == 0xBF:  # the long s is an s in other letters
        return 3
    second = p[2] | 32
    if first == 108 and second == 108:  # ll
        return 3
    return 3 if second == 101 and (first == 114 or first == 118) else 0  # re ve


cdef inline bint ends_line(uint8_t c) noexcept nogil:
    return c == 10 or c == 13


cdef inline int64_t cut_white(const uint8_t* text, int64_t i, int64_t stop, const uint8_t* classes) noexcept nogil:
    """The same for white space: up to its last line end, else all but the character that goes with what follows."""
    cdef int64_t after = i, last = i, line_end = 0, begin
    while after < stop:
        begin = after
        if class_at(text, begin, stop, classes, &after) != 3:
            after = begin
            break
        last = begin
        if ends_line(text[begin]):
            line_end = after
    if line_end:
        return line_end
    return last if after < stop and last > i else after


cdef inline int64_t cut_later(
    const uint8_t* text, int64_t i, int64_t stop, const uint8_t* classes, int most_digits
) noexcept nogil:
    """Where the pre-token that begins at ``i`` ends."""
    cdef int64_t after, last, size = any_contraction(text + i, stop - i)
    cdef int first, second = -1, num = 1
    if size:
        return i + size
    first = class_at(text, i, stop, classes, &after)
    if after < stop:
        second = class_at(text, after, stop, classes, &last)
    if first == 1 or (second == 1 and first != 2 and not ends_line(text[i])):
        while after < stop and class_at(text, after, stop, classes, &last) == 1:
            after = last
        return after
    if first == 2:
        while num < most_digits and after < stop and class_at(text, after, stop, classes, &last) == 2:
            after, num = last, num + 1
        return after
    if first == 0 or (text[i] == 32 and second == 0):
        while after < stop and class_at(text, after, stop, classes, &last) == 0:
            after = last
        while after < stop and ends_line(text[after]):
            after += 1
        return after
    return cut_white(text, i, stop, classes)
