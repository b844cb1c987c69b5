"""The search: depth first over mappings, with bounds, that can stop anywhere and go on later from a few numbers.

Level t is about node t of the first graph; ``child_*`` list the nodes of the second that are worth trying, cheapest first. Where
a search stands is told by how many of them each level has tried: everything else is computed again from that.
"""

from libc.stdint cimport int32_t, int64_t

from samebits.kernels.graph.assign cimport FAR, Assignment, assign, force_first_row
from samebits.kernels.graph.levels cimport Levels, next_level, shift_tallies
from samebits.kernels.graph.pair cimport Pair, edge_cost, mapping_cost, refine
from samebits.kernels.graph.work cimport Work, room_for_level

cdef enum:
    SWEEPS = 40  # refinement ends by itself after 3 to 8; this only bounds the worst case
    SAVED_HEAD = 3  # numbers before the children tried of each level
    FREE_ROWS = 64  # a state with more open nodes counts as (open / 64)^3 states: that is what its assignment costs


cdef struct Answer:
    int64_t lower
    int64_t upper
    int64_t spent
    int depth  # the level where a search stopped for want of budget; -1 if it came to its end


cdef inline int64_t rounded(const Pair* p, int64_t bound) noexcept nogil:
    """The least distance that exists and is not below the bound."""
    cdef int64_t steps = bound // p.grain
    if steps * p.grain < bound:
        steps += 1
    return steps * p.grain


cdef inline int64_t price_of(int rows) noexcept nogil:
    cdef int64_t share = (<int64_t>rows * rows * rows) // (FREE_ROWS * FREE_ROWS * FREE_ROWS)
    return share if share > 1 else 1


cdef inline void keep_if_better(Work* w, int t, Answer* answer) noexcept nogil:
    """Price the mapping of level t's assignment in full, and keep it if it is the best so far."""
    cdef Pair* p = &w.pair
    cdef int i, v
    cdef int64_t cost
    for i in range(t):
        w.image[i] = w.chosen[i]
    for i in range(t, p.n1):
        v = w.levels.node_at[t][w.found.col_of[i - t]]
        w.image[i] = v if v < p.n2 else p.n2
    cost = mapping_cost(p, w.image)
    if cost < answer.upper or t == 0:
        if t == 0 or price_of(p.n1) == 1:
            cost = refine(p, w.image, w.owner, cost, answer.lower, SWEEPS)
        if cost < answer.upper:
            answer.upper = cost
            for i in range(p.n1):
                w.best[i] = w.image[i]


cdef inline void make_children(Work* w, int t, int64_t value, int64_t limit) noexcept nogil:
    """List the columns worth trying for node t, cheapest first; ties by column."""
    cdef Pair* p = &w.pair
    cdef Assignment* a = &w.found
    cdef int wide = w.levels.width[t], k, v, n = 0, at, floor = -1
    cdef int64_t bound
    cdef int32_t* column = w.child_column[t]
    cdef int64_t* bounds = w.child_bound[t]
    force_first_row(w.levels.cost[t], wide, a)
    if w.same1[t] >= 0:
        floor = w.chosen[w.same1[t]]
    for k in range(p.n2 + 1):
        w.seen[k] = 0
    for k in range(wide):
        v = w.levels.node_at[t][k]
        if v > p.n2:
            v = p.n2
        if v < floor:
            continue
        at = w.same2[v] if v < p.n2 else p.n2
        if w.seen[at] or a.dist[k] >= FAR:
            continue
        w.seen[at] = 1
        bound = value + a.dist[k]
        if rounded(p, bound) >= limit:
            continue
        at = n
        while at > 0 and bounds[at - 1] > bound:
            bounds[at] = bounds[at - 1]
            column[at] = column[at - 1]
            at -= 1
        bounds[at] = bound
        column[at] = k
        n += 1
    w.child_count[t] = n
    w.child_next[t] = 0


cdef inline int64_t open_bound(Work* w, int t, int64_t best) noexcept nogil:
    """The least bound of all states not yet looked at, on levels 0..t."""
    cdef int q, r
    cdef int64_t bound
    for q in range(t + 1):
        for r in range(w.child_next[q], w.child_count[q]):
            bound = rounded(&w.pair, w.child_bound[q][r])
            if bound < w.bound[q]:
                bound = w.bound[q]
            if bound < best:
                best = bound
    return best


cdef inline int64_t decided(Work* w, int t, int v) noexcept nogil:
    """Cost of everything decided once node t is mapped to v."""
    cdef Pair* p = &w.pair
    cdef int64_t cost = w.spent[t] + p.node_cost[<int64_t>t * (p.n2 + 1) + v]
    cdef int at, k, x
    for at in range(p.first1[t], p.first1[t + 1]):
        k = p.near1[at]
        if k >= t:
            continue
        x = w.chosen[k]
        if v == p.n2 or x == p.n2:
            cost += edge_cost(p, p.edge1[<int64_t>t * p.n1 + k], 0)
            if p.ways == 2:
                cost += edge_cost(p, p.edge1[<int64_t>k * p.n1 + t], 0)
        else:
            cost += edge_cost(p, p.edge1[<int64_t>t * p.n1 + k], p.edge2[<int64_t>v * p.n2 + x])
            if p.ways == 2:
                cost += edge_cost(p, p.edge1[<int64_t>k * p.n1 + t], p.edge2[<int64_t>x * p.n2 + v])
    return cost


cdef inline int descend(Work* w, int t, int at, int64_t bound, int64_t* value) noexcept nogil:
    """Give node t its column ``at``: make level t + 1 and bound it; -1 if memory ran out."""
    cdef Pair* p = &w.pair
    cdef Levels* s = &w.levels
    cdef int rows = p.n1 - t - 1, v = s.node_at[t][at]
    if v > p.n2:
        v = p.n2
    if room_for_level(w, t + 1, <int64_t>rows * s.width[t]) != 0:
        return -1
    next_level(p, &w.prices, s, t, at)
    w.chosen[t] = v
    w.spent[t + 1] = decided(w, t, v)
    value[0] = p.base + w.spent[t + 1] + assign(s.cost[t + 1], rows, s.width[t + 1], &w.found)
    w.bound[t + 1] = rounded(p, value[0] if value[0] > bound else bound)
    if w.bound[t + 1] < w.bound[t]:
        w.bound[t + 1] = w.bound[t]
    return 0


cdef inline int search(Work* w, int t, int64_t budget, int64_t limit, Answer* answer) noexcept nogil:
    """Look for mappings below the limit, from level t on; -1 if memory ran out. ``answer.lower`` is the bound of the root."""
    cdef Pair* p = &w.pair
    cdef int at, rows
    cdef int64_t value, bound, goal = answer.lower
    cdef int64_t cut = limit if limit < answer.upper else answer.upper
    while True:
        if w.child_next[t] >= w.child_count[t] or rounded(p, w.child_bound[t][w.child_next[t]]) >= cut:
            t -= 1
            if t < 0 or answer.upper <= goal:
                break
            shift_tallies(p, &w.levels, t, w.chosen[t], 1)
            continue
        rows = p.n1 - t - 1
        if answer.spent + price_of(rows) > budget:
            bound = open_bound(w, t, cut)
            if bound > answer.lower:
                answer.lower = bound
            answer.depth = t
            return 0
        answer.spent += price_of(rows)
        at = w.child_column[t][w.child_next[t]]
        bound = w.child_bound[t][w.child_next[t]]
        w.child_next[t] += 1
        if descend(w, t, at, bound, &value) != 0:
            return -1
        if w.bound[t + 1] < cut:
            keep_if_better(w, t + 1, answer)
            if answer.upper < cut:
                cut = answer.upper
        if rows > 1 and w.bound[t + 1] < cut:
            shift_tallies(p, &w.levels, t, w.chosen[t], -1)
            t += 1
            make_children(w, t, value, cut)
    if cut > answer.lower:
        answer.lower = cut
    return 0


cdef inline void save_place(const Work* w, const Answer* answer, int64_t* saved) noexcept nogil:
    """Write down where the search stopped: depth + 1 (0: it has ended), states, upper bound, children tried, best mapping."""
    cdef int q, n = w.pair.n1
    saved[0] = answer.depth + 1
    saved[1] = answer.spent
    saved[2] = answer.upper
    for q in range(answer.depth + 1):
        saved[SAVED_HEAD + q] = w.child_next[q]
    for q in range(n):
        saved[SAVED_HEAD + n + q] = w.best[q]


cdef inline int back_to_place(Work* w, int64_t value, const int64_t* saved, Answer* answer) noexcept nogil:
    """Make all levels again as they were; return the level, -1 if memory ran out, -2 if the place is none of this pair.

    Children are listed without a limit: those that the limit of then would have left out are at the end, and the limit of now
    keeps the search from them.
    """
    cdef int q, n = w.pair.n1
    cdef int64_t depth = saved[0] - 1
    if depth >= n:
        return -2
    answer.spent = saved[1]
    answer.upper = saved[2]
    for q in range(n):
        if not 0 <= saved[SAVED_HEAD + n + q] <= w.pair.n2:
            return -2
        w.best[q] = <int32_t>saved[SAVED_HEAD + n + q]
    for q in range(depth + 1):
        make_children(w, q, value, FAR)
        if not (q < depth) <= saved[SAVED_HEAD + q] <= w.child_count[q]:
            return -2
        w.child_next[q] = <int32_t>saved[SAVED_HEAD + q]
        if q == depth:
            return q
        if descend(w, q, w.child_column[q][w.child_next[q] - 1], w.child_bound[q][w.child_next[q] - 1], &value) != 0:
            return -1
        shift_tallies(&w.pair, &w.levels, q, w.chosen[q], -1)
    return -1
