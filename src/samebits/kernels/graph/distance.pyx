"""Graph edit distance with a certificate: a lower bound, a mapping that shows the upper bound, and the work spent.

A depth-first search over mappings of the smaller graph. Every state gets the cheapest assignment of what is left (node, known
edges in full, half of a bound for the others), which is a lower bound, and its mapping, priced in full, an upper bound.
Work is counted in states, never in seconds, so the answer is the same on every machine. All costs are integers.
"""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from samebits.kernels.graph.assign cimport FAR, Assignment, assign, force_first_row
from samebits.kernels.graph.levels cimport Levels, count_edges, first_level
from samebits.kernels.graph.load cimport load_pair
from samebits.kernels.graph.pair cimport Pair, Prices
from samebits.kernels.graph.search cimport (
    SAVED_HEAD, Answer, back_to_place, keep_if_better, make_children, rounded, save_place, search,
)
from samebits.kernels.graph.work cimport (
    Graphs, Work, close_work, open_work, room_for_level, room_for_tallies,
)

cdef enum:
    GUESS_ROWS = 10  # from here on a second starting mapping pays for itself; smaller pairs are solved meanwhile


cdef inline int compare(
    const Graphs* g, Work* w, int64_t a, int64_t b, int64_t budget, int64_t limit, int64_t* saved, Answer* answer
) noexcept nogil:
    """Bounds first, then the search, from where it stopped if ``saved`` says so; the mapping of the upper bound is left in
    ``best``, by places of the order.
    """
    cdef Pair* p = &w.pair
    cdef Levels* s = &w.levels
    cdef int wide, t = 0
    cdef int64_t value
    load_pair(g, w, a, b)
    answer.spent = 0
    answer.depth = -1
    if p.n1 == 0:
        answer.lower = answer.upper = p.base
        return 0
    wide = p.n2 + (p.n1 if p.deletes else 0)
    if room_for_level(w, 0, <int64_t>p.n1 * wide) != 0:
        return -1
    if room_for_tallies(w, <int64_t>(p.n1 if p.n1 > p.n2 else p.n2) * p.ways * p.codes) != 0:
        return -1
    s.width[0] = wide
    count_edges(p, p.edge1, p.first1, p.near1, p.n1, s.degree1, s.tally1)
    count_edges(p, p.edge2, p.first2, p.near2, p.n2, s.degree2, s.tally2)
    answer.upper = FAR
    answer.lower = 0
    first_level(p, &w.prices, s, 1, s.cost[0])
    value = p.base + assign(s.cost[0], p.n1, wide, &w.found)
    answer.lower = rounded(p, value) if value > 0 else 0
    w.spent[0] = 0
    w.bound[0] = answer.lower
    if saved != NULL and saved[0] > 0:
        t = back_to_place(w, value, saved, answer)
        return t if t < 0 else search(w, t, answer.spent + budget, limit, answer)
    keep_if_better(w, 0, answer)
    if answer.lower >= answer.upper or answer.lower >= limit:
        return 0
    make_children(w, 0, value, limit if limit < answer.upper else answer.upper)
    if p.n1 >= GUESS_ROWS:
        if room_for_level(w, 1, <int64_t>p.n1 * wide) != 0:
            return -1
        first_level(p, &w.prices, s, 2, s.cost[1])
        assign(s.cost[1], p.n1, wide, &w.found)
        keep_if_better(w, 0, answer)
    if answer.lower >= answer.upper or p.n1 == 1:
        return 0
    if budget <= 0:
        answer.depth = 0
        return 0
    return search(w, 0, budget, limit, answer)


def distances(
    const int32_t[::1] labels,
    const int64_t[::1] node_at,
    const int32_t[::1] sources,
    const int32_t[::1] targets,
    const int32_t[::1] edge_labels,
    const int64_t[::1] edge_at,
    const int64_t[::1] first,
    const int64_t[::1] second,
    const int64_t[::1] limits,
    const int64_t[::1] prices,
    int64_t grain,
    bint directed,
    int64_t num_edge_labels,
    int64_t budget,
    bint with_mappings=False,
    const int64_t[:, ::1] saved=None,
):
    """Compare pairs of graphs.

    Args:
        labels: Node labels of all graphs, one graph after the other.
        node_at: Where each graph's nodes start; one more than graphs.
        sources: Start of each edge, as a node number within its graph.
        targets: End of each edge; an undirected edge is there once.
        edge_labels: Its label, 1 or more.
        edge_at: Where each graph's edges start.
        first: The first graph of each pair.
        second: The second graph of each pair.
        limits: Stop a pair as soon as its distance is proven to be this or more; doubled like all distances.
        prices: node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins.
        grain: What every doubled distance is a multiple of.
        directed: Whether edges have a direction.
        num_edge_labels: Largest edge label.
        budget: States to look at, for each pair.
        with_mappings: Whether to return the mappings.
        saved: A row for each pair: where its search stopped, as an earlier call returned it, or zeros to begin. The
            budget is then that of this call alone, expansions are those of all calls.

    Returns:
        lower, upper (doubled), expansions, the image of every node of every first graph (-1: deleted) or none, and where
        searches have stopped if ``saved`` was given (a row that begins with 0 has ended).
    """
    cdef int64_t k, a, b, n, most = 1, most_edges = 1, at = 0, total = 0
    cdef int64_t pairs = first.shape[0], graphs = node_at.shape[0] - 1
    cdef Work w
    cdef Graphs g
    cdef Answer answer
    cdef Prices forth, back
    cdef bint swapped
    cdef int failed = 0
    assert second.shape[0] == pairs and limits.shape[0] == pairs and prices.shape[0] == 6
    for k in range(graphs):
        most = max(most, node_at[k + 1] - node_at[k])
        most_edges = max(most_edges, edge_at[k + 1] - edge_at[k])
    for k in range(pairs):
        if not (0 <= first[k] < graphs and 0 <= second[k] < graphs):
            raise IndexError(f"pair {k} names a graph that is not there")
        total += node_at[first[k] + 1] - node_at[first[k]]
    lower = np.zeros(pairs, np.int64)
    upper = np.zeros(pairs, np.int64)
    spent = np.zeros(pairs, np.int64)
    images = np.zeros(total if with_mappings else 0, np.int32)
    places = np.zeros((pairs, 0), np.int64) if saved is None else np.array(saved)
    if saved is not None and (saved.shape[0] != pairs or saved.shape[1] < SAVED_HEAD + 2 * most):
        raise ValueError(f"places of {saved.shape[1]} numbers for graphs of {most} nodes")
    cdef int64_t[::1] lower_view = lower, upper_view = upper, spent_view = spent
    cdef int32_t[::1] image_view = images
    cdef int64_t[:, ::1] place_view = places
    cdef bint keeps = saved is not None
    cdef int64_t* place
    set_prices(&forth, &prices[0], False)
    set_prices(&back, &prices[0], True)
    g.labels = &labels[0] if labels.shape[0] else NULL
    g.sources = &sources[0] if sources.shape[0] else NULL
    g.targets = &targets[0] if targets.shape[0] else NULL
    g.edge_labels = &edge_labels[0] if edge_labels.shape[0] else NULL
    g.node_at, g.edge_at = &node_at[0], &edge_at[0]
    if open_work(&w, <int>most, most_edges, num_edge_labels) != 0:
        raise MemoryError(f"no memory to compare graphs of {most} nodes")
    w.pair.ways = 2 if directed else 1
    w.pair.grain = grain
    w.pair.deletes = prices[0] > prices[1] + prices[2]
    with nogil:
        for k in range(pairs):
            a, b = first[k], second[k]
            n = node_at[a + 1] - node_at[a]
            swapped = n > node_at[b + 1] - node_at[b]
            w.prices = back if swapped else forth
            place = &place_view[k, 0] if keeps else NULL
            failed = compare(&g, &w, b if swapped else a, a if swapped else b, budget, limits[k], place, &answer)
            if failed != 0:
                break
            if keeps:
                save_place(&w, &answer, place)
            lower_view[k], upper_view[k], spent_view[k] = answer.lower, answer.upper, answer.spent
            if with_mappings:
                write_mapping(&w, swapped, &image_view[at] if n else NULL)
                at += n
    close_work(&w)
    if failed == -2:
        raise ValueError("a search cannot go on from the place of another pair")
    if failed:
        raise MemoryError(f"no memory to compare graphs of {most} nodes")
    return lower, upper, spent, images, places


cdef inline void set_prices(Prices* out, const int64_t* prices, bint swapped) noexcept nogil:
    out.node_sub = prices[0]
    out.node_del = prices[2] if swapped else prices[1]
    out.node_ins = prices[1] if swapped else prices[2]
    out.edge_sub = min(prices[3], prices[4] + prices[5])
    out.edge_del = prices[5] if swapped else prices[4]
    out.edge_ins = prices[4] if swapped else prices[5]


cdef inline void write_mapping(Work* w, bint swapped, int32_t* out) noexcept nogil:
    """Turn ``best`` into images of the pair's first graph."""
    cdef Pair* p = &w.pair
    cdef int i
    if swapped:
        for i in range(p.n2):
            out[i] = -1
        for i in range(p.n1):
            if w.best[i] < p.n2:
                out[w.best[i]] = w.order[i]
    else:
        for i in range(p.n1):
            out[w.order[i]] = w.best[i] if w.best[i] < p.n2 else -1


def assign_rows(const int64_t[:, ::1] cost):
    """Give every row its own column at least total cost; rows must not outnumber columns.

    Returns:
        The total, each row's column, and how much dearer it gets if the first row must take a column, for each column.
    """
    cdef int rows = <int>cost.shape[0], cols = <int>cost.shape[1]
    cdef Assignment a
    cdef int64_t total = 0
    if rows > cols:
        raise ValueError(f"{rows} rows do not fit into {cols} columns")
    wide = np.zeros((3, cols + 1), np.int64)
    narrow = np.zeros((4, cols + 1), np.int32)
    cdef int64_t[:, ::1] long_cells = wide
    cdef int32_t[:, ::1] short_cells = narrow
    a.u, a.v, a.dist = &long_cells[0, 0], &long_cells[1, 0], &long_cells[2, 0]
    a.col_of, a.row_of = &short_cells[0, 0], &short_cells[1, 0]
    a.prev, a.todo = &short_cells[2, 0], &short_cells[3, 0]
    if rows:
        with nogil:
            total = assign(&cost[0, 0], rows, cols, &a)
            force_first_row(&cost[0, 0], cols, &a)
    return total, narrow[0, :rows].copy(), wide[2, :cols].copy()
