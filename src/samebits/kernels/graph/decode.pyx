"""Best trees under scores: spanning trees with one root, and projective trees whose nodes fill their slots.

``spanning_tree``  Chu-Liu/Edmonds in float64, exactly one word below the root, lowest index on ties. O(n^3) when the free
                   optimum has one root; each root is tried otherwise.
``slot_tree``      the best projective tree in which every node has exactly one child by each arc label that its own label
                   demands, and any number by those it merely allows. O(n^4 L), n up to a few hundred.

Both release the GIL and take plain C-contiguous float64 arrays.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

cdef double NONE = -1e300  # below every score, and still finite when a few of them are added


# ------------------------------------------------------------------ spanning trees

cdef int _arborescence(double* score, int n, int* head) except -1 nogil:
    """Best tree below node 0. ``score[d * n + h]`` of h -> d. Contracts one cycle at a time; first maximum wins."""
    cdef int* colour
    cdef int* cycle
    cdef int* rest
    cdef int* sub
    cdef int* enter
    cdef int* leave
    cdef double* inner
    cdef int d, h, s, v, m, k, i, j, size = 0, best
    cdef double value, top, given
    colour = <int*>calloc(n, sizeof(int))
    cycle = <int*>malloc(n * sizeof(int))
    if colour == NULL or cycle == NULL:
        free(colour); free(cycle)
        with gil:
            raise MemoryError
    head[0] = 0
    for d in range(1, n):
        best = -1
        for h in range(n):
            if h != d and (best < 0 or score[d * n + h] > score[d * n + best]):
                best = h
        head[d] = best
    for s in range(1, n):
        v = s
        while v and not colour[v]:
            colour[v] = s
            v = head[v]
        if v and colour[v] == s:
            d = v
            while True:
                cycle[size] = d
                size += 1
                d = head[d]
                if d == v:
                    break
            break
    if size == 0:
        free(colour); free(cycle)
        return 0
    memset(colour, 0, n * sizeof(int))
    for i in range(size):
        colour[cycle[i]] = 1
    m = n - size
    rest = <int*>malloc(n * sizeof(int))
    sub = <int*>malloc((m + 1) * sizeof(int))
    enter = <int*>malloc((m + 1) * sizeof(int))
    leave = <int*>malloc((m + 1) * sizeof(int))
    inner = <double*>malloc(<size_t>(m + 1) * (m + 1) * sizeof(double))
    if rest == NULL or sub == NULL or enter == NULL or leave == NULL or inner == NULL:
        free(colour); free(cycle); free(rest); free(sub); free(enter); free(leave); free(inner)
        with gil:
            raise MemoryError
    k = 0
    for v in range(n):
        if not colour[v]:
            rest[k] = v
            k += 1
    for i in range(m):
        for j in range(m):
            inner[i * (m + 1) + j] = score[rest[i] * n + rest[j]]
    inner[m * (m + 1) + m] = NONE
    for j in range(m):
        # enter the cycle from rest[j] at the word that gives up least; leave it towards rest[j] from the best word
        best = -1
        top = NONE
        for i in range(size):
            d = cycle[i]
            given = score[d * n + rest[j]] - score[d * n + head[d]]
            if best < 0 or given > top or (given == top and d < cycle[best]):
                best = i
                top = given
        enter[j] = cycle[best]
        inner[m * (m + 1) + j] = top
        best = -1
        top = NONE
        for i in range(size):
            value = score[rest[j] * n + cycle[i]]
            if best < 0 or value > top or (value == top and cycle[i] < cycle[best]):
                best = i
                top = value
        leave[j] = cycle[best]
        inner[j * (m + 1) + m] = top
    try:
        _arborescence(inner, m + 1, sub)
        for k in range(1, m):
            head[rest[k]] = leave[k] if sub[k] == m else rest[sub[k]]
        head[enter[sub[m]]] = rest[sub[m]]
    finally:
        free(colour); free(cycle); free(rest); free(sub); free(enter); free(leave); free(inner)
    return 0


def spanning_tree(const double[:, ::1] scores not None):
    """Return the head of every word in the best tree with exactly one word below node 0.

    Args:
        scores: (n + 1, n + 1); ``scores[d, h]`` is the score of the arc h -> d; row 0 and the diagonal are not read.

    Returns:
        int32 array of n + 1 heads; entry 0 is 0.
    """
    cdef int n = <int>scores.shape[0]
    cdef int d, r, num_roots = 0
    cdef double value, best = 0.0
    cdef bint have = False
    heads = np.zeros(n, np.int32)
    trial = np.zeros(n, np.int32)
    table = np.array(scores)
    cdef int[::1] out = heads
    cdef int[::1] one = trial
    cdef double[:, ::1] work = table
    if n <= 1:
        return heads
    with nogil:
        _arborescence(&work[0, 0], n, &out[0])
        for d in range(1, n):
            num_roots += out[d] == 0
        if num_roots > 1:
            for r in range(1, n):
                for d in range(1, n):
                    work[d, 0] = scores[d, 0] if d == r else NONE
                _arborescence(&work[0, 0], n, &one[0])
                num_roots = 0
                value = 0.0
                for d in range(1, n):
                    num_roots += one[d] == 0
                    value = value + scores[d, one[d]]
                if num_roots == 1 and (not have or value > best):
                    have = True
                    best = value
                    out[:] = one
    return heads


# ------------------------------------------------------------------ projective trees with slots

cdef struct Chart:
    int n
    int num_labels
    const double* score    # (n, n, L): child, head, label
    const int* needs       # (n, L): bit of a label that the head needs once, or -1
    const signed char* may # (n, L): a label that the head may have any number of
    const int* full        # (n,): all bits a head needs
    int states             # 1 + the largest full
    double* left           # (n, n, states): head h covers i..h, bits used
    double* right          # (n, n, states): head h covers h..j
    double* whole          # (n, n, n): span i..j with root h
    double* hung           # (n, L, n, n): the best root of span i..j hung from h by l


cdef inline double _grow(Chart* c, double* side, int h, int edge, int state, int* cut, int* label) noexcept nogil:
    """Best way to end the side of ``h`` at ``edge`` with a child: where its span starts, and by which label."""
    cdef int n = c.n, num_labels = c.num_labels, states = c.states, k, l, bit, before, low, high
    cdef double best = NONE, value, rest
    cdef bint is_right = edge > h
    low = h if is_right else edge + 1
    high = edge - 1 if is_right else h
    for l in range(num_labels):
        bit = c.needs[h * num_labels + l]
        if bit >= 0 and (state >> bit) & 1:
            before = state ^ (1 << bit)
        elif bit < 0 and c.may[h * num_labels + l]:
            before = state
        else:
            continue
        for k in range(low, high + 1):
            rest = side[(h * n + k) * states + before]
            if rest <= NONE:
                continue
            if is_right:
                value = c.hung[((h * num_labels + l) * n + k + 1) * n + edge]
            else:
                value = c.hung[((h * num_labels + l) * n + edge) * n + k - 1]
            if value > NONE and rest + value > best:
                best = rest + value
                cut[0] = k
                label[0] = l
    return best


cdef void _fill(Chart* c) noexcept nogil:
    cdef int n = c.n, num_labels = c.num_labels, states = c.states
    cdef int length, h, i, j, s, l, root, cut = 0, label = 0
    cdef double best, a, b
    for h in range(n):
        c.left[(h * n + h) * states] = 0.0
        c.right[(h * n + h) * states] = 0.0
    for length in range(1, n + 1):
        if length > 1:
            for h in range(n):
                for s in range(c.full[h] + 1):
                    j = h + length - 1
                    if j < n:
                        c.right[(h * n + j) * states + s] = _grow(c, c.right, h, j, s, &cut, &label)
                    i = h - length + 1
                    if i >= 0:
                        c.left[(h * n + i) * states + s] = _grow(c, c.left, h, i, s, &cut, &label)
        for i in range(n - length + 1):
            j = i + length - 1
            for root in range(i, j + 1):
                best = NONE
                for s in range(c.full[root] + 1):
                    a = c.left[(root * n + i) * states + s]
                    b = c.right[(root * n + j) * states + (c.full[root] ^ s)]
                    if a > NONE and b > NONE and a + b > best:
                        best = a + b
                c.whole[(i * n + j) * n + root] = best
                if best <= NONE:
                    continue
                for h in range(n):
                    if i <= h <= j:
                        continue
                    for l in range(num_labels):
                        a = best + c.score[(root * n + h) * num_labels + l]
                        if a > c.hung[((h * num_labels + l) * n + i) * n + j]:
                            c.hung[((h * num_labels + l) * n + i) * n + j] = a


cdef int _walk(Chart* c, int root, int* heads, int* labels) except -1 nogil:
    """Follow the best choices from the whole span down; an explicit stack of (i, j, root)."""
    cdef int n = c.n, num_labels = c.num_labels, states = c.states
    cdef int i, j, s, t, edge, side, cut = 0, label = 0, child, first, last, top = 1, r
    cdef double best, a, b
    cdef int* stack = <int*>malloc(<size_t>3 * (n + 1) * sizeof(int))
    if stack == NULL:
        with gil:
            raise MemoryError
    stack[0], stack[1], stack[2] = 0, n - 1, root
    while top:
        top -= 1
        i, j, r = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        best, t = NONE, 0
        for s in range(c.full[r] + 1):
            a = c.left[(r * n + i) * states + s]
            b = c.right[(r * n + j) * states + (c.full[r] ^ s)]
            if a > NONE and b > NONE and a + b > best:
                best, t = a + b, s
        for side in range(2):
            edge = i if side == 0 else j
            s = t if side == 0 else c.full[r] ^ t
            while edge != r:
                _grow(c, c.left if side == 0 else c.right, r, edge, s, &cut, &label)
                first = edge if side == 0 else cut + 1
                last = cut - 1 if side == 0 else edge
                child, best = first, NONE
                for root in range(first, last + 1):
                    a = c.whole[(first * n + last) * n + root]
                    if a > NONE and a + c.score[(root * n + r) * num_labels + label] > best:
                        best = a + c.score[(root * n + r) * num_labels + label]
                        child = root
                heads[child], labels[child] = r, label
                stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = first, last, child
                top += 1
                if c.needs[r * num_labels + label] >= 0:
                    s ^= 1 << c.needs[r * num_labels + label]
                edge = cut
    free(stack)
    return 0


def slot_tree(
    const double[:, :, ::1] scores not None,
    const double[::1] roots not None,
    const int[:, ::1] needs not None,
    const signed char[:, ::1] may not None,
):
    """Return heads and arc labels of the best projective tree whose nodes fill their slots.

    Args:
        scores: (n, n, L); ``scores[c, h, l]`` is the score of child c below head h by label l.
        roots: (n,); score of each node as the root.
        needs: (n, L); bit (0, 1, 2 ...) of each label that the node needs exactly once as a head, else -1.
        may: (n, L); 1 for labels of which the node may have any number.

    Returns:
        (heads, labels), int32; the root has head -1 and label -1. None when no tree fits.
    """
    cdef int n = <int>scores.shape[0]
    cdef int num_labels = <int>scores.shape[2]
    cdef int h, l, root = -1, states = 1
    cdef double value, best = NONE
    cdef Chart c
    if n == 0:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    bits = np.zeros(n, np.int32)
    cdef int[::1] full = bits
    for h in range(n):
        for l in range(num_labels):
            if needs[h, l] >= 0:
                full[h] |= 1 << needs[h, l]
        states = max(states, full[h] + 1)
    found_heads = np.full(n, -1, np.int32)
    found_labels = np.full(n, -1, np.int32)
    tables = [np.full(size, NONE) for size in (n * n * states, n * n * states, n * n * n, n * num_labels * n * n)]
    cdef double[::1] left = tables[0]
    cdef double[::1] right = tables[1]
    cdef double[::1] whole = tables[2]
    cdef double[::1] hung = tables[3]
    cdef int[::1] heads = found_heads
    cdef int[::1] labels = found_labels
    c.n, c.num_labels, c.states = n, num_labels, states
    c.score, c.needs, c.may, c.full = &scores[0, 0, 0], &needs[0, 0], &may[0, 0], &full[0]
    c.left, c.right, c.whole, c.hung = &left[0], &right[0], &whole[0], &hung[0]
    with nogil:
        _fill(&c)
        for h in range(n):
            value = whole[(n - 1) * n + h]
            if value > NONE and value + roots[h] > best:
                best = value + roots[h]
                root = h
        if root >= 0:
            _walk(&c, root, &heads[0], &labels[0])
    return (found_heads, found_labels) if root >= 0 else None
