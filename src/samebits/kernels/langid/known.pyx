"""What a dictionary says about rows: how many of a row's words the best two languages know. Integers only."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np


cdef struct Two:
    # The best two languages of a row, by how many of its tokens they know.
    int32_t top
    int32_t first
    int32_t second


ctypedef fused lanes:
    # One count of 8 bits for each language: a table of few languages is half as large, and fits the second-level cache.
    uint32_t
    uint64_t


cdef Two count_row(
    const uint32_t[::1] tokens, int64_t start, int64_t stop,
    const int64_t[::1] word_stops, const int32_t[::1] languages, int32_t* counts, int32_t* seen,
) noexcept nogil:
    # Any row; counts is all zeros before and after.
    cdef Two two = Two(top=-1, first=0, second=0)
    cdef int64_t t, k
    cdef int32_t i, l, count, num_seen = 0
    cdef uint32_t w
    for t in range(start, stop):
        w = tokens[t]
        if w >= word_stops.shape[0]:
            continue
        for k in range(word_stops[w - 1] if w else 0, word_stops[w]):
            l = languages[k]
            if counts[l] == 0:
                seen[num_seen] = l
                num_seen += 1
            counts[l] += 1
    for i in range(num_seen):
        count = counts[seen[i]]
        counts[seen[i]] = 0
        if count > two.first:
            two.second = two.first
            two.first = count
            two.top = seen[i]
        elif count > two.second:
            two.second = count
    return two


cdef Two add_row(
    const uint32_t[::1] tokens, int64_t start, int64_t stop,
    const int64_t[::1] word_stops, const int32_t[::1] languages, const lanes* packed, int num_languages,
) noexcept nogil:
    # A row of up to 255 tokens: one addition a token counts all languages. Among equals the one met first is looked up.
    cdef Two two = Two(top=-1, first=0, second=0)
    cdef lanes sums = 0
    cdef int64_t t, k
    cdef int32_t l, count
    cdef uint32_t w
    for t in range(start, stop):
        w = tokens[t]
        if w < word_stops.shape[0]:
            sums += packed[w]
    for l in range(num_languages):
        count = <int32_t>((sums >> (8 * l)) & 0xFF)
        if count > two.first:
            two.second = two.first
            two.first = count
        elif count > two.second:
            two.second = count
    t = start
    while two.first and two.top < 0:
        w = tokens[t]
        t += 1
        if w < word_stops.shape[0]:
            for k in range(word_stops[w - 1] if w else 0, word_stops[w]):
                if <int32_t>((sums >> (8 * languages[k])) & 0xFF) == two.first:
                    two.top = languages[k]
                    break
    return two


cdef void pack(lanes* packed, const int64_t[::1] word_stops, const int32_t[::1] languages) noexcept nogil:
    # For each word a one in the lane of each of its languages, in a table of zeros.
    cdef int64_t w, k = 0
    for w in range(word_stops.shape[0]):
        while k < word_stops[w]:
            packed[w] |= <lanes>1 << (8 * languages[k])
            k += 1


def score_rows(
    const uint32_t[::1] tokens,
    const int64_t[::1] token_stops,
    const int64_t[::1] word_stops,
    const int32_t[::1] languages,
    int num_languages,
):
    """How many of a row's tokens the best two languages know.

    Returns (top language int32 or -1, its tokens, the runner-up's tokens, all tokens: int32 each). Equal languages: the
    one met first, going through the tokens and each word's languages in order. A token 0xFFFFFFFF is no known word.
    """
    cdef int64_t n = token_stops.shape[0], r, start = 0
    cdef Two two
    top, firsts, seconds, totals = (np.empty(n, np.int32) for _ in range(4))
    cdef int32_t[::1] top_view = top, first_view = firsts, second_view = seconds, total_view = totals
    cdef int32_t* counts = <int32_t*>calloc(num_languages + 1, sizeof(int32_t))
    cdef int32_t* seen = <int32_t*>calloc(num_languages + 1, sizeof(int32_t))
    cdef int lane_bytes = 0  # not packed: too many languages, or so few tokens that packing would be most of the work
    if tokens.shape[0] >= word_stops.shape[0] and num_languages <= 8:
        lane_bytes = 4 if num_languages <= 4 else 8
    cdef void* packed = calloc(word_stops.shape[0] + 1, max(1, lane_bytes))
    try:
        if counts == NULL or seen == NULL or packed == NULL:
            raise MemoryError
        with nogil:
            if lane_bytes == 4:
                pack(<uint32_t*>packed, word_stops, languages)
            elif lane_bytes == 8:
                pack(<uint64_t*>packed, word_stops, languages)
            for r in range(n):
                if lane_bytes == 0 or token_stops[r] - start > 255:
                    two = count_row(tokens, start, token_stops[r], word_stops, languages, counts, seen)
                elif lane_bytes == 4:
                    two = add_row(tokens, start, token_stops[r], word_stops, languages, <const uint32_t*>packed, num_languages)
                else:
                    two = add_row(tokens, start, token_stops[r], word_stops, languages, <const uint64_t*>packed, num_languages)
                top_view[r] = two.top
                first_view[r] = two.first
                second_view[r] = two.second
                total_view[r] = <int32_t>(token_stops[r] - start)
                start = token_stops[r]
    finally:
        free(counts)
        free(seen)
        free(packed)
    return top, firsts, seconds, totals
