"""Memory for comparing graphs of bounded size, taken once a call, and the loading of one pair into it."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc

from samebits.kernels.graph.assign cimport Assignment
from samebits.kernels.graph.levels cimport Levels
from samebits.kernels.graph.pair cimport Pair, Prices, edge_cost

cdef struct Graphs:
    # Many graphs in a row: nodes of g are node_at[g]:node_at[g + 1], edges likewise. Edge labels count from 1.
    const int32_t* labels
    const int64_t* node_at
    const int32_t* sources
    const int32_t* targets
    const int32_t* edge_labels
    const int64_t* edge_at


cdef struct Work:
    Pair pair
    Prices prices
    Levels levels
    Assignment found
    int most  # nodes of the largest graph
    int64_t tally_room
    char* arena
    char* at
    int32_t* code_of  # edge label -> code in this pair
    int32_t* order  # place in the search -> node of the first graph
    int32_t* place  # and back
    int32_t* dense
    int32_t* image
    int32_t* best
    int32_t* owner
    int32_t* chosen  # level -> node of the second graph, n2 if deleted
    int32_t* same1  # the last node before it that is interchangeable with it, or -1
    int32_t* same2  # number of its class of interchangeable nodes
    int32_t* seen
    int64_t* spent  # level -> cost of what is decided
    int64_t* bound  # level -> lower bound of its state
    int32_t* child_count
    int32_t* child_next
    int32_t** child_column
    int64_t** child_bound


cdef inline void* take(Work* w, size_t size) noexcept nogil:
    cdef char* here = w.at
    w.at += (size + 15) & ~<size_t>15
    return here


cdef inline void carve(Work* w, int n, int64_t edges, int64_t num_labels) noexcept nogil:
    """Lay the arrays into the arena; with the arena at NULL it only adds up their sizes."""
    cdef int64_t nn = <int64_t>n * n, wide = 2 * n + 1, i
    cdef Pair* p = &w.pair
    cdef Levels* s = &w.levels
    p.label1 = <int32_t*>take(w, n * 4)
    p.label2 = <int32_t*>take(w, n * 4)
    p.edge1 = <int32_t*>take(w, nn * 4)
    p.edge2 = <int32_t*>take(w, nn * 4)
    p.first1 = <int32_t*>take(w, (n + 1) * 4)
    p.first2 = <int32_t*>take(w, (n + 1) * 4)
    p.near1 = <int32_t*>take(w, 2 * edges * 4)
    p.near2 = <int32_t*>take(w, 2 * edges * 4)
    p.node_cost = <int64_t*>take(w, (nn + n) * 8)
    w.code_of = <int32_t*>take(w, (num_labels + 1) * 4)
    w.order = <int32_t*>take(w, n * 4)
    w.place = <int32_t*>take(w, n * 4)
    w.dense = <int32_t*>take(w, nn * 4)
    w.image = <int32_t*>take(w, n * 4)
    w.best = <int32_t*>take(w, n * 4)
    w.owner = <int32_t*>take(w, wide * 4)
    w.chosen = <int32_t*>take(w, n * 4)
    w.same1 = <int32_t*>take(w, n * 4)
    w.same2 = <int32_t*>take(w, n * 4)
    w.seen = <int32_t*>take(w, wide * 4)
    w.spent = <int64_t*>take(w, (n + 1) * 8)
    w.bound = <int64_t*>take(w, (n + 1) * 8)
    w.child_count = <int32_t*>take(w, (n + 1) * 4)
    w.child_next = <int32_t*>take(w, (n + 1) * 4)
    w.child_column = <int32_t**>take(w, (n + 1) * 8)
    w.child_bound = <int64_t**>take(w, (n + 1) * 8)
    s.cost = <int64_t**>take(w, (n + 1) * 8)
    s.room = <int64_t*>take(w, (n + 1) * 8)
    s.node_at = <int32_t**>take(w, (n + 1) * 8)
    s.width = <int32_t*>take(w, (n + 1) * 4)
    s.degree1 = <int32_t*>take(w, 2 * n * 4)
    s.degree2 = <int32_t*>take(w, 2 * n * 4)
    s.column = <int32_t*>take(w, n * 4)
    w.found.u = <int64_t*>take(w, n * 8)
    w.found.v = <int64_t*>take(w, wide * 8)
    w.found.dist = <int64_t*>take(w, wide * 8)
    w.found.col_of = <int32_t*>take(w, n * 4)
    w.found.row_of = <int32_t*>take(w, wide * 4)
    w.found.prev = <int32_t*>take(w, wide * 4)
    w.found.todo = <int32_t*>take(w, wide * 4)
    if w.arena == NULL:
        w.at += (n + 1) * (2 * ((wide * 4 + 15) & ~<int64_t>15) + ((wide * 8 + 15) & ~<int64_t>15))
        return
    for i in range(n + 1):
        s.node_at[i] = <int32_t*>take(w, wide * 4)
        w.child_column[i] = <int32_t*>take(w, wide * 4)
        w.child_bound[i] = <int64_t*>take(w, wide * 8)


cdef inline int open_work(Work* w, int n, int64_t edges, int64_t num_labels) noexcept nogil:
    """Take memory for graphs of at most n nodes; -1 if there is none. Prices are left alone."""
    w.most = n
    w.arena = NULL
    w.at = NULL
    w.tally_room = 0
    w.levels.tally1 = NULL
    w.levels.tally2 = NULL
    carve(w, n, edges, num_labels)
    w.arena = <char*>calloc(1, <size_t>w.at)
    if w.arena == NULL:
        return -1
    w.at = w.arena
    carve(w, n, edges, num_labels)
    return 0


cdef inline void close_work(Work* w) noexcept nogil:
    cdef int i
    if w.arena != NULL:
        for i in range(w.most + 1):
            free(w.levels.cost[i])
    free(w.levels.tally1)
    free(w.levels.tally2)
    free(w.arena)


cdef inline int room_for_level(Work* w, int t, int64_t cells) noexcept nogil:
    """Make sure that level t can hold so many cells; -1 if there is no memory."""
    cdef int64_t* grown
    if cells > w.levels.room[t]:
        grown = <int64_t*>realloc(w.levels.cost[t], cells * sizeof(int64_t))
        if grown == NULL:
            return -1
        w.levels.cost[t] = grown
        w.levels.room[t] = cells
    return 0


cdef inline int room_for_tallies(Work* w, int64_t cells) noexcept nogil:
    cdef int32_t* first
    cdef int32_t* second
    if cells <= w.tally_room:
        return 0
    first = <int32_t*>realloc(w.levels.tally1, cells * sizeof(int32_t))
    if first != NULL:
        w.levels.tally1 = first
    second = <int32_t*>realloc(w.levels.tally2, cells * sizeof(int32_t))
    if second != NULL:
        w.levels.tally2 = second
    if first == NULL or second == NULL:
        return -1
    w.tally_room = cells
    return 0
