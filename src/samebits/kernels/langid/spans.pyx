"""A text word by word: what each says for explanations, and the stretches of one language in mixed text.

Stretches are the best path through the words, where changing language costs some bits. Every word has a score in every language; the path through languages with the highest sum, less a price for every change,
is found word by word (Viterbi). Offsets are code points of the text.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.langid.compact cimport CompactScorer
from samebits.kernels.langid.enough cimport Enough
from samebits.kernels.langid.ngrams cimport LONGEST_WORD, MOST_LETTERS, extend, first_hash, key_of, word_key
from samebits.kernels.langid.text.reading cimport (
    Reader, free_reader, mark_words, next_word, read_text, spread, start_reader,
)

cdef uint16_t LAST = 1 << 15  # language of a feature
cdef int64_t OUT_OF_REACH = -((<int64_t>1) << 60)


cdef void step(
    CompactScorer scorer, const int32_t* sums, int64_t known, const int32_t* biases, const uint8_t* allowed,
    int64_t price, bint first, int64_t best, int64_t* path, int32_t* came,
) noexcept nogil:
    # One word further: path[l] is the best sum that ends in l, came[l] the language before.
    cdef int l, n = scorer.num_languages
    cdef int64_t top = path[best], change
    for l in range(n):
        change = top - price + biases[l]
        came[l] = l
        if first:
            path[l] = biases[l] if allowed[l] else OUT_OF_REACH
        elif allowed[l] and change > path[l]:
            path[l] = change
            came[l] = <int32_t>best
        if allowed[l]:
            path[l] += sums[scorer.slots[l]] - known * scorer.floors[l]


def find_spans(
    CompactScorer scorer,
    bytes text,
    const int32_t[::1] biases,
    const uint8_t[::1] allowed,
    int64_t price,
    int64_t most_points,
):
    """Starts and stops of the words and the language of each, as three int64 arrays."""
    cdef int64_t n = 0, length, known, best = 0, w, room = most_points // 2 + 1
    cdef int l, num = scorer.num_languages
    cdef Reader reader
    cdef uint64_t word
    starts, stops, found = (np.full(room, -1, np.int64) for _ in range(3))
    cdef int64_t[::1] start_view = starts, stop_view = stops, found_view = found
    cdef int64_t* path = <int64_t*>malloc(num * sizeof(int64_t))
    cdef int32_t* sums = <int32_t*>malloc(scorer.width * sizeof(int32_t))
    cdef int32_t* came = NULL
    cdef bint first = True
    try:
        if not start_reader(&reader, most_points) or path == NULL or sums == NULL:
            raise MemoryError
        read_text(&reader, text, len(text), most_points)
        came = <int32_t*>malloc((reader.num // 2 + 1) * num * sizeof(int32_t))
        if came == NULL:
            raise MemoryError
        with nogil:
            memset(path, 0, num * sizeof(int64_t))
            length = next_word(&scorer.tables.points, &reader)
            while length and n < room:
                memset(sums, 0, scorer.width * sizeof(int32_t))
                word = word_key(reader.edged, length) if length <= LONGEST_WORD + 2 else 0
                known = scorer.score_word(&reader, length, word, sums)
                start_view[n], stop_view[n] = reader.start, reader.stop
                step(scorer, sums, known, &biases[0], &allowed[0], price, first, best, path, came + n * num)
                first = False
                best = 0
                for l in range(1, num):
                    if path[l] > path[best]:
                        best = l
                n += 1
                length = next_word(&scorer.tables.points, &reader)
            for w in range(n - 1, -1, -1):
                found_view[w] = best
                best = came[w * num + best]
        return starts[:n], stops[:n], found[:n]
    finally:
        free_reader(&reader)
        free(path)
        free(sums)
        free(came)


def words_of(CompactScorer scorer, bytes text, int64_t most_points, Enough enough=None):
    """Each word that is read, edges shown as ``_``, with its known features: (first letter, letters, [(language, value)]).

    0 letters is the word itself. The words are those that ``score`` reads, in its order. For explanations; not fast.
    """
    cdef int64_t k, num, n, known = 0
    cdef Reader reader
    cdef uint64_t word
    cdef int32_t* sums = <int32_t*>calloc(scorer.width, sizeof(int32_t))
    found = []
    try:
        if not start_reader(&reader, most_points) or sums == NULL:
            raise MemoryError
        read_text(&reader, text, len(text), most_points)
        num = mark_words(&scorer.tables.points, &reader)
        for k in range(num):
            reader.at = reader.starts[spread(k, num)]
            n = next_word(&scorer.tables.points, &reader)
            word = word_key(reader.edged, n) if n <= LONGEST_WORD + 2 else 0
            shown = "".join([chr(reader.edged[s]) for s in range(1, n - 1)])
            found.append((f"_{shown}_", features_of(scorer, &reader, n, word)))
            known += scorer.score_word(&reader, n, word, sums)
            if scorer.may_stop(&reader, k, sums, known, enough):
                break
    finally:
        free_reader(&reader)
        free(sums)
    return found


cdef list features_of(CompactScorer scorer, Reader* r, int64_t n, uint64_t word):
    cdef int64_t s, place
    cdef int length
    cdef uint64_t h
    features = []
    for s in range(n):
        h = first_hash()
        for length in range(1, min(MOST_LETTERS, n - s) + 1):
            h = extend(h, r.edged[s + length - 1])
            place = scorer.find(key_of(h, length))
            if place < 0:
                break
            features.append((s, length, list_of(scorer, place)))
    place = scorer.find(word) if word else -1
    if place >= 0:
        features.append((0, 0, list_of(scorer, place)))
    return features


cdef list list_of(CompactScorer scorer, int64_t i):
    found = []
    while True:
        found.append((scorer.stream[i] & 255, scorer.levels[scorer.stream[i] >> 8 & 127]))
        if scorer.stream[i] & LAST:
            return found
        i += 1
