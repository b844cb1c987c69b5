"""Unigram: the best way to cut a text into pieces, with the arithmetic of ``sentencepiece`` or of ``tokenizers``.

``sentencepiece``: the score of a way is the sum of its pieces' scores from the beginning of the text, a 32-bit float; a candidate must be better
than what was found before. So which of two nearly equal ways wins depends on everything before them: texts are never cut,
and the order of additions is that of the library. Where a sum has grown beyond 100,000, counting begins anew there.
``tokenizers``: the same word by word, with 64 bits.

Pieces lie in a double array: the child of cell ``i`` for byte ``b`` is cell ``base[i] + b`` if that one names ``i`` as its parent.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

import numpy as np

from samebits.kernels.tokens.chars import check_rows

cdef float RESET = 100000.0


cdef struct Cell:
    int32_t base
    int32_t parent  # the parent's number + 1; 0 for an empty cell
    int32_t piece  # -1 where no piece ends
    double score


cdef struct Span:
    # Pieces low to high, which begin with the bytes that lead to a node.
    int32_t low
    int32_t high
    int32_t depth
    int32_t node


cdef struct Best:
    # The last piece of the best way that ends here.
    int32_t start  # where it begins; -1 for no way yet
    int32_t piece


ctypedef fused real:
    float
    double


cdef inline int64_t char_size(uint8_t lead) noexcept nogil:
    if lead < 0xC0:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef class PieceTrie:
    """The pieces of one model; read by any number of threads."""

    cdef Cell* cells
    cdef int64_t num_cells
    cdef int64_t first_free

    def __cinit__(
        self, const uint8_t[::1] pieces, const int64_t[::1] offsets, const int32_t[::1] ids, const double[::1] scores
    ):
        """Build the trie; pieces are sorted by their bytes, distinct, and none is empty."""
        cdef int64_t i, n = ids.shape[0]
        if offsets.shape[0] != n + 1 or scores.shape[0] != n:
            raise ValueError(f"{n} ids, {offsets.shape[0]} offsets, {scores.shape[0]} scores")
        check_rows(pieces.shape[0], offsets[:n], offsets[1:])
        for i in range(n):
            if offsets[i] == offsets[i + 1]:
                raise ValueError(f"piece {i} is empty")
        self.first_free = 1
        if self.grow(1 << 12) != 0:
            raise MemoryError
        self.cells[0].parent = -1  # the root is no child, not even its own
        self.fill(pieces, offsets, ids, scores)

    def __dealloc__(self):
        free(self.cells)

    cdef int grow(self, int64_t size) noexcept nogil:
        """Have at least ``size`` cells; -1 when memory is short."""
        cdef int64_t i
        cdef void* more
        if size <= self.num_cells:
            return 0
        size = max(size, 2 * self.num_cells)
        more = realloc(self.cells, size * sizeof(Cell))
        if more == NULL:
            return -1
        self.cells = <Cell*>more
        for i in range(self.num_cells, size):
            self.cells[i] = Cell(0, 0, -1, 0.0)
        self.num_cells = size
        return 0

    cdef int64_t place(self, const uint8_t* labels, int num_labels) noexcept nogil:
        """Where children with these bytes fit; -1 when memory is short."""
        cdef int64_t base, at = self.first_free, num_taken = 0
        cdef int k
        while True:
            if self.grow(at + 512) != 0:
                return -1
            if self.cells[at].parent:
                num_taken += 1
            elif at >= labels[0]:
                base = at - labels[0]
                k = 1
                while k < num_labels and self.cells[base + labels[k]].parent == 0:
                    k += 1
                if k == num_labels:
                    break
            at += 1
        if 10 * num_taken >= 7 * (at - self.first_free):
            self.first_free = at  # what is free before is too little to be looked through again
        return base

    cdef int fill(
        self, const uint8_t[::1] pieces, const int64_t[::1] offsets, const int32_t[::1] ids, const double[::1] scores
    ) except -1:
        """Place the children of every node, parents first."""
        cdef int64_t at = 0, num_spans = 1, room = 1024
        cdef int added
        cdef Span* spans = <Span*>malloc(room * sizeof(Span))
        cdef void* more
        if spans == NULL:
            raise MemoryError
        spans[0] = Span(0, <int32_t>ids.shape[0], 0, 0)
        try:
            while at < num_spans:
                if num_spans + 256 > room:
                    room *= 2
                    more = realloc(spans, room * sizeof(Span))
                    if more == NULL:
                        raise MemoryError
                    spans = <Span*>more
                added = self.add_children(spans[at], &spans[num_spans], pieces, offsets, ids, scores)
                if added == -1:
                    raise MemoryError
                if added == -2:
                    raise ValueError(f"a piece after piece {spans[at].low} is not in order")
                num_spans, at = num_spans + added, at + 1
        finally:
            free(spans)
        return 0

    cdef int add_children(
        self, Span span, Span* out, const uint8_t[::1] pieces, const int64_t[::1] offsets,
        const int32_t[::1] ids, const double[::1] scores,
    ) noexcept nogil:
        """Place the children of one node and write their spans; -1 when memory is short, -2 for a wrong order."""
        cdef int64_t i, base
        cdef uint8_t labels[256]
        cdef int k, n = 0
        if span.low < span.high and offsets[span.low] + span.depth == offsets[span.low + 1]:
            self.cells[span.node].piece, self.cells[span.node].score = ids[span.low], scores[span.low]
            span.low += 1
        for i in range(span.low, span.high):
            if offsets[i] + span.depth >= offsets[i + 1]:
                return -2
            if n and labels[n - 1] == pieces[offsets[i] + span.depth]:
                continue
            if n and labels[n - 1] > pieces[offsets[i] + span.depth]:
                return -2
            labels[n] = pieces[offsets[i] + span.depth]
            out[n] = Span(<int32_t>i, span.high, span.depth + 1, 0)
            if n:
                out[n - 1].high = <int32_t>i
            n += 1
        base = self.place(labels, n) if n else 0
        if base < 0:
            return -1
        self.cells[span.node].base = <int32_t>base
        for k in range(n):
            self.cells[base + labels[k]].parent = span.node + 1
            out[k].node = <int32_t>(base + labels[k])
        return n

    def encode(
        self,
        const uint8_t[::1] buffer,
        const int64_t[::1] starts,
        const int64_t[::1] stops,
        int32_t unknown,
        double unknown_score,
        const int32_t[::1] byte_ids,
        *,
        bint by_word=False,
    ):
        """Ids of every row: (ids, offsets).

        Args:
            unknown: Id of what no piece covers; neighbours become one, or bytes.
            unknown_score: Score of a character that no piece covers.
            byte_ids: The ids of the 256 bytes that an unknown character becomes; empty for none.
            by_word: Whether U+2581 begins a text of its own and sums have 64 bits, as in ``tokenizers``.
        """
        cdef int64_t r, n = starts.shape[0], begin, end, longest = 0, total = 0
        cdef const int32_t* fallback = &byte_ids[0] if byte_ids.shape[0] else NULL
        flat = np.empty(check_rows(buffer.shape[0], starts, stops), np.uint32)
        ends = np.zeros(n + 1, np.int64)
        cdef uint32_t[::1] out = flat
        cdef int64_t[::1] offsets = ends
        for r in range(n):
            longest = max(longest, stops[r] - starts[r])
        if longest >= 0x7FFFFFFF or (byte_ids.shape[0] != 256 and byte_ids.shape[0] != 0):
            raise ValueError(f"a row of {longest} bytes, {byte_ids.shape[0]} ids of bytes")
        cdef Best* best = <Best*>malloc((longest + 1) * sizeof(Best))
        cdef double* sums = <double*>malloc((longest + 1) * (sizeof(double) if by_word else sizeof(float)))
        if best == NULL or sums == NULL:
            free(best)
            free(sums)
            raise MemoryError
        with nogil:
            for r in range(n):
                begin = starts[r]
                while begin < stops[r]:
                    end = word_end(&buffer[0], begin, stops[r]) if by_word else stops[r]
                    memset(best, 0xFF, (end - begin + 1) * sizeof(Best))  # no way to anywhere
                    if by_word:
                        search(self, &buffer[begin], end - begin, best, sums, unknown, unknown_score)
                    else:
                        search(self, &buffer[begin], end - begin, best, <float*>sums, unknown, <float>unknown_score)
                    total += write_ids(&buffer[begin], end - begin, best, unknown, fallback, &out[total])
                    begin = end
                offsets[r + 1] = total
        free(best)
        free(sums)
        return flat[:total], ends


cdef int64_t word_end(const uint8_t* text, int64_t i, int64_t stop) noexcept nogil:
    """Where the next U+2581 after the first character begins."""
    i += 1
    while i < stop and not (text[i] == 0xE2 and stop - i >= 3 and text[i + 1] == 0x96 and text[i + 2] == 0x81):
        i += 1
    return i


cdef void search(
    PieceTrie trie, const uint8_t* text, int64_t size, Best* best, real* sums, int32_t unknown, real unknown_score
) noexcept nogil:
    """Find the best way to every place."""
    cdef int64_t begin = 0, at, length, i, node, child, reached = 0
    cdef real here, candidate
    cdef bint has_single
    cdef Cell* cell
    best[0].start, sums[0] = 0, 0
    while begin < size:
        here, has_single = sums[begin], False
        if real is float and (here < -RESET or here > RESET):
            for i in range(begin, reached + 1):
                if i == begin or best[i].start >= 0:
                    sums[i] -= here
            here = 0
        length = min(char_size(text[begin]), size - begin)
        node, at = 0, begin
        while at < size:
            child = trie.cells[node].base + text[at]
            if child >= trie.num_cells or trie.cells[child].parent != node + 1:
                break
            node, at = child, at + 1
            cell = &trie.cells[node]
            if cell.piece < 0:
                continue
            reached = max(reached, at)
            candidate = <real>cell.score + here
            if best[at].start < 0 or candidate > sums[at]:
                sums[at], best[at] = candidate, Best(<int32_t>begin, cell.piece)
            if at - begin == length:
                has_single = True
        if not has_single:
            at = begin + length
            reached = max(reached, at)
            candidate = here + unknown_score
            if best[at].start < 0 or candidate > sums[at]:
                sums[at], best[at] = candidate, Best(<int32_t>begin, unknown)
        begin += length


cdef int64_t write_ids(
    const uint8_t* text, int64_t size, Best* best, int32_t unknown, const int32_t* byte_ids, uint32_t* out
) noexcept nogil:
    """Write the ids of the best way from its end; returns how many."""
    cdef int64_t at = size, k, i = 0, j
    cdef bint was_unknown = False
    cdef uint32_t swap
    while at > 0:
        if best[at].piece != unknown:
            out[i] = best[at].piece
            i += 1
        elif byte_ids != NULL:
            for k in range(at - 1, best[at].start - 1, -1):
                out[i] = byte_ids[text[k]]
                i += 1
        elif not was_unknown:
            out[i] = unknown
            i += 1
        was_unknown = best[at].piece == unknown
        at = best[at].start
    j = i - 1
    for k in range(i // 2):
        swap = out[k]
        out[k] = out[j - k]
        out[j - k] = swap
    return i
