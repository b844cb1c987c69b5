"""Two graphs as dense codes, the cost of a mapping between them, and its refinement.

Everything is relative to inserting all of the second graph (``base``): then an edge that the first graph lacks costs
nothing more, and only edges of the first graph are walked. Costs are doubled, so that half an edge is an integer.
"""

from libc.stdint cimport int32_t, int64_t

cdef struct Prices:
    # One edit each, not doubled; edge_sub is at most edge_del + edge_ins, since deleting and inserting does as well.
    int64_t node_sub
    int64_t node_del
    int64_t node_ins
    int64_t edge_sub
    int64_t edge_del
    int64_t edge_ins


cdef struct Pair:
    int n1
    int n2
    int ways  # 1 undirected, 2 directed
    int codes  # edge codes: 0 none, shared labels, only in the first, only in the second
    bint deletes  # whether a node of the first graph may be deleted (node_sub > node_del + node_ins)
    int64_t base
    int64_t grain  # every distance is a multiple of it
    int32_t* label1
    int32_t* label2
    int32_t* edge1  # n1 * n1: code of the edge i -> j
    int32_t* edge2
    int32_t* first1  # neighbours of i: near1[first1[i]:first1[i + 1]], both directions, no self
    int32_t* near1
    int32_t* first2
    int32_t* near2
    int64_t edge_same  # relative, doubled: an edge that stays, is relabelled, is deleted
    int64_t edge_other
    int64_t edge_gone
    int64_t* node_cost  # n1 * (n2 + 1), relative; the last column deletes


cdef inline int64_t edge_cost(const Pair* p, int a, int b) noexcept nogil:
    """Cost of turning the edge code a into b; where a is no edge, b is inserted anyway."""
    if a == 0:
        return 0
    if b == 0:
        return p.edge_gone
    return p.edge_same if a == b else p.edge_other


cdef inline int64_t part_cost(const Pair* p, const int32_t* image, int i, int y, int skip) noexcept nogil:
    """Cost of node i at place y, with all its edges but the one to skip; place n2 is none."""
    cdef int64_t cost = p.node_cost[<int64_t>i * (p.n2 + 1) + y]
    cdef int at, k, w
    cdef const int32_t* row1 = p.edge1 + <int64_t>i * p.n1
    for at in range(p.first1[i], p.first1[i + 1]):
        k = p.near1[at]
        if k == skip:
            continue
        w = image[k]
        if y == p.n2 or w == p.n2:
            cost += edge_cost(p, row1[k], 0)
            if p.ways == 2:
                cost += edge_cost(p, p.edge1[<int64_t>k * p.n1 + i], 0)
        else:
            cost += edge_cost(p, row1[k], p.edge2[<int64_t>y * p.n2 + w])
            if p.ways == 2:
                cost += edge_cost(p, p.edge1[<int64_t>k * p.n1 + i], p.edge2[<int64_t>w * p.n2 + y])
    return cost


cdef inline int64_t mapping_cost(const Pair* p, const int32_t* image) noexcept nogil:
    """Cost of the edits that a whole mapping means."""
    cdef int64_t cost = p.base, both = 0
    cdef int64_t node
    cdef int i
    for i in range(p.n1):
        node = p.node_cost[<int64_t>i * (p.n2 + 1) + image[i]]
        cost += node
        both += part_cost(p, image, i, image[i], -1) - node  # every edge is seen from both ends
    return cost + both // 2


cdef inline int64_t pair_cost(const Pair* p, int i, int k, int x, int y) noexcept nogil:
    """Cost of the edges between i and k when they are at x and y."""
    cdef int b = 0, c = 0
    cdef int64_t cost
    if x != p.n2 and y != p.n2:
        b = p.edge2[<int64_t>x * p.n2 + y]
        c = p.edge2[<int64_t>y * p.n2 + x]
    cost = edge_cost(p, p.edge1[<int64_t>i * p.n1 + k], b)
    if p.ways == 2:
        cost += edge_cost(p, p.edge1[<int64_t>k * p.n1 + i], c)
    return cost


cdef inline int64_t refine(
    const Pair* p, int32_t* image, int32_t* owner, int64_t cost, int64_t goal, int most_sweeps
) noexcept nogil:
    """Move or swap images while the best change of some node helps; stops at the goal. Returns the new cost."""
    cdef int i, k, x, y, best_y, sweep
    cdef int64_t here, gain, best
    cdef bint moved = True
    for y in range(p.n2 + 1):
        owner[y] = -1
    for i in range(p.n1):
        owner[image[i]] = i
    owner[p.n2] = -1
    sweep = 0
    while moved and sweep < most_sweeps and cost > goal:
        moved = False
        sweep += 1
        for i in range(p.n1):
            x = image[i]
            best, best_y = 0, -1
            here = part_cost(p, image, i, x, -1)
            for y in range(p.n2 + p.deletes):
                if y == x:
                    continue
                k = owner[y]
                if k < 0:
                    gain = part_cost(p, image, i, y, -1) - here
                else:
                    gain = (
                        part_cost(p, image, i, y, k) + part_cost(p, image, k, x, i) + pair_cost(p, i, k, y, x)
                        - here - part_cost(p, image, k, y, i)
                    )
                if gain < best:
                    best, best_y = gain, y
            if best_y >= 0:
                k = owner[best_y]
                image[i] = best_y
                if k >= 0:
                    image[k] = x
                if x != p.n2:
                    owner[x] = k
                if best_y != p.n2:
                    owner[best_y] = i
                cost += best
                moved = True
    return cost
