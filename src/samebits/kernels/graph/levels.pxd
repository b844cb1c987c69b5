"""The cost matrices of a search, one a level, each made from the one above by what a new pair of nodes changes.

Level t has decided about the nodes 0..t-1 of the first graph. Cell (i, j) holds what mapping i to j costs there: the node,
its edges to decided nodes in full, and half of a lower bound for its other edges (each is seen from both ends). Deciding
about one more node changes only rows and columns next to it, so a level costs a copy and a few cells.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from samebits.kernels.graph.pair cimport Pair, Prices, edge_cost

cdef struct Levels:
    int64_t** cost  # level -> (n1 - t) * width[t]
    int64_t* room  # cells allocated a level
    int32_t** node_at  # level -> node of the second graph in each column; n2 and above delete
    int32_t* width
    int32_t* degree1  # n1 * ways: undecided neighbours
    int32_t* degree2
    int32_t* tally1  # (n1 * ways) * codes: undecided neighbours by edge code
    int32_t* tally2
    int32_t* column  # node of the second graph -> column, or -1


cdef inline void count_edges(
    const Pair* p, const int32_t* edge, const int32_t* first, const int32_t* near, int n,
    int32_t* degree, int32_t* tally
) noexcept nogil:
    """Count every node's edges by code, self loops left out."""
    cdef int i, at, k, code, way
    for i in range(n * p.ways):
        degree[i] = 0
    for i in range(n * p.ways * p.codes):
        tally[i] = 0
    for i in range(n):
        for at in range(first[i], first[i + 1]):
            k = near[at]
            for way in range(p.ways):
                code = edge[<int64_t>i * n + k] if way == 0 else edge[<int64_t>k * n + i]
                if code:
                    degree[i * p.ways + way] += 1
                    tally[(i * p.ways + way) * p.codes + code] += 1


cdef inline int64_t stars(const Pair* p, const Prices* c, int64_t s1, int64_t s2, int64_t shared) noexcept nogil:
    """Least cost of turning s1 edges into s2 when so many labels are shared, relative to inserting the s2."""
    cdef int64_t both = s1 if s1 < s2 else s2
    return both * (c.edge_sub - c.edge_ins) - shared * c.edge_sub + c.edge_del * (s1 - both)


cdef inline void first_level(
    const Pair* p, const Prices* c, Levels* s, int weight, int64_t* cost
) noexcept nogil:
    """Fill the cells before anything is decided; weight 1 gives a lower bound, weight 2 guesses a mapping that heeds edges more."""
    cdef int i, j, way, code, w = s.width[0]
    cdef int64_t shared, cell
    cdef const int32_t* t1
    cdef const int32_t* t2
    cdef int64_t* row
    for i in range(p.n1):
        row = cost + <int64_t>i * w
        for j in range(w):
            cell = p.node_cost[<int64_t>i * (p.n2 + 1) + (j if j < p.n2 else p.n2)]
            for way in range(p.ways):
                shared = 0
                if j < p.n2:
                    t1 = s.tally1 + <int64_t>(i * p.ways + way) * p.codes
                    t2 = s.tally2 + <int64_t>(j * p.ways + way) * p.codes
                    for code in range(1, p.codes - 2):  # the last two codes are never shared
                        shared += t1[code] if t1[code] < t2[code] else t2[code]
                    cell += weight * stars(p, c, s.degree1[i * p.ways + way], s.degree2[j * p.ways + way], shared)
                else:
                    cell += weight * stars(p, c, s.degree1[i * p.ways + way], 0, 0)
            row[j] = cell
    for j in range(w):
        s.node_at[0][j] = j


cdef inline int64_t change(
    const Pair* p, const Prices* c, const Levels* s, int i, int j, int t, int v
) noexcept nogil:
    """How cell (i, j) changes when t is mapped to v (n2: deleted): one edge less to bound, one more that is known."""
    cdef int way, a, b
    cdef int64_t delta = 0, s1, s2, old, new, shared
    cdef const int32_t* t1
    cdef const int32_t* t2
    for way in range(p.ways):
        if way == 0:
            a = p.edge1[<int64_t>i * p.n1 + t]
            b = p.edge2[<int64_t>j * p.n2 + v] if v < p.n2 else 0
        else:
            a = p.edge1[<int64_t>t * p.n1 + i]
            b = p.edge2[<int64_t>v * p.n2 + j] if v < p.n2 else 0
        if a == 0 and b == 0:
            continue
        t1 = s.tally1 + <int64_t>(i * p.ways + way) * p.codes
        t2 = s.tally2 + <int64_t>(j * p.ways + way) * p.codes
        s1 = s.degree1[i * p.ways + way]
        s2 = s.degree2[j * p.ways + way]
        old = s1 if s1 < s2 else s2
        shared = 0
        if a:
            if t1[a] <= t2[a]:
                shared -= 1
            delta += edge_cost(p, a, b) - c.edge_del * (s1 - old)
            s1 -= 1
        else:
            delta -= c.edge_del * (s1 - old)
        if b:
            if t2[b] <= t1[b] - (a == b):
                shared -= 1
            s2 -= 1
        new = s1 if s1 < s2 else s2
        delta += (new - old) * (c.edge_sub - c.edge_ins) - shared * c.edge_sub + c.edge_del * (s1 - new)
    return delta


cdef inline void next_level(const Pair* p, const Prices* c, Levels* s, int t, int at) noexcept nogil:
    """Make level t + 1 from level t by giving node t the column ``at``; tallies are still those of level t."""
    cdef int w = s.width[t], i, j, k, nc, slot
    cdef int v = s.node_at[t][at]
    cdef bint deleted = v >= p.n2
    cdef const int64_t* old
    cdef int64_t* new
    cdef bint near
    if deleted:
        v = p.n2
        nc = w
        memcpy(s.node_at[t + 1], s.node_at[t], w * sizeof(int32_t))
    else:
        nc = w - 1
        memcpy(s.node_at[t + 1], s.node_at[t], at * sizeof(int32_t))
        memcpy(s.node_at[t + 1] + at, s.node_at[t] + at + 1, (nc - at) * sizeof(int32_t))
    s.width[t + 1] = nc
    for j in range(p.n2):
        s.column[j] = -1
    for k in range(nc):
        if s.node_at[t + 1][k] < p.n2:
            s.column[s.node_at[t + 1][k]] = k
    for i in range(t + 1, p.n1):
        old = s.cost[t] + <int64_t>(i - t) * w
        new = s.cost[t + 1] + <int64_t>(i - t - 1) * nc
        if deleted:
            memcpy(new, old, w * sizeof(int64_t))
        else:
            memcpy(new, old, at * sizeof(int64_t))
            memcpy(new + at, old + at + 1, (nc - at) * sizeof(int64_t))
        near = p.edge1[<int64_t>i * p.n1 + t] != 0 or p.edge1[<int64_t>t * p.n1 + i] != 0
        if near:
            for k in range(nc):
                j = s.node_at[t + 1][k]
                if j < p.n2:
                    new[k] += change(p, c, s, i, j, t, v)
                else:
                    if p.edge1[<int64_t>i * p.n1 + t]:
                        new[k] += c.edge_del
                    if p.ways == 2 and p.edge1[<int64_t>t * p.n1 + i]:
                        new[k] += c.edge_del
        elif not deleted:
            for slot in range(p.first2[v], p.first2[v + 1]):
                j = p.near2[slot]
                if s.column[j] >= 0:
                    new[s.column[j]] += change(p, c, s, i, j, t, v)


cdef inline void shift_tallies(const Pair* p, Levels* s, int t, int v, int by) noexcept nogil:
    """Take node t of the first and v of the second graph out of their neighbours' tallies (by -1), or put them back."""
    cdef int slot, k, way, code
    for slot in range(p.first1[t], p.first1[t + 1]):
        k = p.near1[slot]
        for way in range(p.ways):
            code = p.edge1[<int64_t>k * p.n1 + t] if way == 0 else p.edge1[<int64_t>t * p.n1 + k]
            if code:
                s.degree1[k * p.ways + way] += by
                s.tally1[<int64_t>(k * p.ways + way) * p.codes + code] += by
    if v >= p.n2:
        return
    for slot in range(p.first2[v], p.first2[v + 1]):
        k = p.near2[slot]
        for way in range(p.ways):
            code = p.edge2[<int64_t>k * p.n2 + v] if way == 0 else p.edge2[<int64_t>v * p.n2 + k]
            if code:
                s.degree2[k * p.ways + way] += by
                s.tally2[<int64_t>(k * p.ways + way) * p.codes + code] += by
