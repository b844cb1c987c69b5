"""One pair of graphs into the dense form of ``graph_pair``: codes, neighbours, node costs, order, interchangeable nodes."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from samebits.kernels.graph.pair cimport Pair, Prices, edge_cost
from samebits.kernels.graph.work cimport Graphs, Work


cdef inline void give_codes(const Graphs* g, Work* w, int64_t a, int64_t b) noexcept nogil:
    """Number the edge labels of this pair: shared ones 1, 2 ...; then one code for all that only a has, one for b."""
    cdef int64_t e
    cdef int32_t code = 1
    for e in range(g.edge_at[a], g.edge_at[a + 1]):
        w.code_of[g.edge_labels[e]] = -1
    for e in range(g.edge_at[b], g.edge_at[b + 1]):
        if w.code_of[g.edge_labels[e]] == -1:
            w.code_of[g.edge_labels[e]] = code
            code += 1
        elif w.code_of[g.edge_labels[e]] == 0:
            w.code_of[g.edge_labels[e]] = -2
    w.pair.codes = code + 2
    for e in range(g.edge_at[a], g.edge_at[a + 1]):
        if w.code_of[g.edge_labels[e]] == -1:
            w.code_of[g.edge_labels[e]] = code
    for e in range(g.edge_at[b], g.edge_at[b + 1]):
        if w.code_of[g.edge_labels[e]] == -2:
            w.code_of[g.edge_labels[e]] = code + 1


cdef inline void drop_codes(const Graphs* g, Work* w, int64_t a, int64_t b) noexcept nogil:
    cdef int64_t e
    for e in range(g.edge_at[a], g.edge_at[a + 1]):
        w.code_of[g.edge_labels[e]] = 0
    for e in range(g.edge_at[b], g.edge_at[b + 1]):
        w.code_of[g.edge_labels[e]] = 0


cdef inline void fill_dense(const Graphs* g, Work* w, int64_t a, int32_t* edge, const int32_t* place) noexcept nogil:
    """Write the codes of a graph's edges; node i goes to place[i] if places are given."""
    cdef int64_t n = g.node_at[a + 1] - g.node_at[a], e
    cdef int32_t u, v, code
    memset(edge, 0, n * n * sizeof(int32_t))
    for e in range(g.edge_at[a], g.edge_at[a + 1]):
        u, v, code = g.sources[e], g.targets[e], w.code_of[g.edge_labels[e]]
        if place != NULL:
            u, v = place[u], place[v]
        edge[u * n + v] = code
        if w.pair.ways == 1:
            edge[v * n + u] = code


cdef inline void fill_neighbours(const int32_t* edge, int n, int32_t* first, int32_t* near) noexcept nogil:
    cdef int i, k, at = 0
    for i in range(n):
        first[i] = at
        for k in range(n):
            if k != i and (edge[<int64_t>i * n + k] or edge[<int64_t>k * n + i]):
                near[at] = k
                at += 1
    first[n] = at


cdef inline void choose_order(Work* w, const int32_t* edge, int n) noexcept nogil:
    """Put next what has most edges to the nodes before it, then most edges: early levels then decide most.

    Uses first1 and near1 of the graph in its own order.
    """
    cdef int t, i, k, best
    cdef int64_t score, top
    for i in range(n):
        w.place[i] = -1
    for t in range(n):
        best, top = -1, -1
        for i in range(n):
            if w.place[i] >= 0:
                continue
            score = w.pair.first1[i + 1] - w.pair.first1[i]
            for k in range(w.pair.first1[i], w.pair.first1[i + 1]):
                if w.place[w.pair.near1[k]] >= 0:
                    score += 1 << 20
            if score > top:
                best, top = i, score
        w.order[t] = best
        w.place[best] = t


cdef inline void price_nodes(Work* w) noexcept nogil:
    """Fill the node costs, self loops included, and the cost of inserting the whole second graph."""
    cdef Pair* p = &w.pair
    cdef const Prices* c = &w.prices
    cdef int i, j, loops = 0
    cdef int64_t num_edges = 0, cell
    cdef int own
    p.edge_same = -2 * c.edge_ins
    p.edge_other = 2 * c.edge_sub - 2 * c.edge_ins
    p.edge_gone = 2 * c.edge_del
    for j in range(p.n2):
        num_edges += p.first2[j + 1] - p.first2[j]
        loops += p.edge2[<int64_t>j * p.n2 + j] != 0
    if p.ways == 2:  # neighbours are not edges: two nodes may have one each way
        num_edges = 0
        for i in range(p.n2):
            for j in range(p.n2):
                num_edges += i != j and p.edge2[<int64_t>i * p.n2 + j] != 0
    else:
        num_edges //= 2
    p.base = 2 * (c.node_ins * p.n2 + c.edge_ins * (num_edges + loops))
    for i in range(p.n1):
        own = p.edge1[<int64_t>i * p.n1 + i]
        for j in range(p.n2):
            cell = -2 * c.node_ins + edge_cost(p, own, p.edge2[<int64_t>j * p.n2 + j])
            if p.label1[i] != p.label2[j]:
                cell += 2 * c.node_sub
            p.node_cost[<int64_t>i * (p.n2 + 1) + j] = cell
        p.node_cost[<int64_t>i * (p.n2 + 1) + p.n2] = 2 * c.node_del + edge_cost(p, own, 0)


cdef inline bint interchangeable(const int32_t* label, const int32_t* edge, int n, int i, int j) noexcept nogil:
    """Whether swapping i and j gives the same graph."""
    cdef int k
    if label[i] != label[j] or edge[<int64_t>i * n + i] != edge[<int64_t>j * n + j]:
        return False
    if edge[<int64_t>i * n + j] != edge[<int64_t>j * n + i]:
        return False
    for k in range(n):
        if k != i and k != j:
            if edge[<int64_t>i * n + k] != edge[<int64_t>j * n + k]:
                return False
            if edge[<int64_t>k * n + i] != edge[<int64_t>k * n + j]:
                return False
    return True


cdef inline void find_twins(Work* w) noexcept nogil:
    """Only the smallest of a class need be tried, and only in rising order: the other mappings are the same edits."""
    cdef Pair* p = &w.pair
    cdef int i, j
    for i in range(p.n1):
        w.same1[i] = -1
        for j in range(i - 1, -1, -1):
            if interchangeable(p.label1, p.edge1, p.n1, i, j):
                w.same1[i] = j
                break
    for i in range(p.n2):
        w.same2[i] = i
        for j in range(i):
            if w.same2[j] == j and interchangeable(p.label2, p.edge2, p.n2, i, j):
                w.same2[i] = j
                break


cdef inline void load_pair(const Graphs* g, Work* w, int64_t a, int64_t b) noexcept nogil:
    """Load graphs a and b; a must not have more nodes than b unless nodes may be deleted."""
    cdef Pair* p = &w.pair
    cdef int i
    p.n1 = <int>(g.node_at[a + 1] - g.node_at[a])
    p.n2 = <int>(g.node_at[b + 1] - g.node_at[b])
    give_codes(g, w, a, b)
    fill_dense(g, w, a, w.dense, NULL)
    fill_neighbours(w.dense, p.n1, p.first1, p.near1)
    choose_order(w, w.dense, p.n1)
    fill_dense(g, w, a, p.edge1, w.place)
    fill_dense(g, w, b, p.edge2, NULL)
    drop_codes(g, w, a, b)
    fill_neighbours(p.edge1, p.n1, p.first1, p.near1)
    fill_neighbours(p.edge2, p.n2, p.first2, p.near2)
    for i in range(p.n1):
        p.label1[i] = g.labels[g.node_at[a] + w.order[i]]
    for i in range(p.n2):
        p.label2[i] = g.labels[g.node_at[b] + i]
    price_nodes(w)
    find_twins(w)
