"""The cheapest assignment of rows to columns, and what it would cost to force one pair. Exact: integers only.

Rows <= columns; a column without a row costs nothing. Ties go to the first minimum, so the answer depends on the matrix alone.
"""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    NONE = -1

cdef extern from *:
    """
    #define GRAPH_FAR ((int64_t)1 << 61)
    """
    const int64_t FAR "GRAPH_FAR"  # further than any path; the sum of two still fits


cdef struct Assignment:
    # Solution and duals: cost[i, j] - u[i] - v[j] >= 0, zero where matched; v <= 0, zero at free columns.
    int64_t* u
    int64_t* v
    int32_t* col_of
    int32_t* row_of
    # scratch, one cell a column
    int64_t* dist
    int32_t* prev
    int32_t* todo


cdef inline int64_t assign(const int64_t* cost, int rows, int cols, Assignment* a) noexcept nogil:
    """Shortest augmenting paths after taking every row's minimum that is still free. O(rows^2 * cols) at worst."""
    cdef int i, j, k, r, left, best, sink
    cdef int64_t low, step, reach
    cdef int64_t total = 0
    cdef const int64_t* row
    for j in range(cols):
        a.v[j] = 0
        a.row_of[j] = NONE
    for i in range(rows):
        row = cost + <int64_t>i * cols
        low = row[0]
        for j in range(1, cols):
            if row[j] < low:
                low = row[j]
        a.u[i] = low
        a.col_of[i] = NONE
        for j in range(cols):
            if row[j] == low and a.row_of[j] == NONE:
                a.row_of[j] = i
                a.col_of[i] = j
                break
    for r in range(rows):
        if a.col_of[r] != NONE:
            continue
        row = cost + <int64_t>r * cols
        for j in range(cols):
            a.dist[j] = row[j] - a.u[r] - a.v[j]
            a.prev[j] = r
            a.todo[j] = j
        left = cols
        sink = NONE
        reach = 0
        while True:
            best = 0
            low = a.dist[a.todo[0]]
            for k in range(1, left):
                if a.dist[a.todo[k]] < low:
                    low = a.dist[a.todo[k]]
                    best = k
            j = a.todo[best]
            reach = low
            if a.row_of[j] == NONE:
                sink = j
                break
            left -= 1
            a.todo[best] = a.todo[left]
            a.todo[left] = j  # done columns gather at the end, for the update of the duals
            i = a.row_of[j]
            row = cost + <int64_t>i * cols
            step = low - a.u[i]
            for k in range(left):
                j = a.todo[k]
                low = step + row[j] - a.v[j]
                if low < a.dist[j]:
                    a.dist[j] = low
                    a.prev[j] = i
        a.u[r] += reach
        for k in range(left, cols):
            j = a.todo[k]
            i = a.row_of[j]
            a.u[i] += reach - a.dist[j]
            a.v[j] -= reach - a.dist[j]
        j = sink
        while True:
            i = a.prev[j]
            a.row_of[j] = i
            k = a.col_of[i]
            a.col_of[i] = j
            if i == r:
                break
            j = k
    for i in range(rows):
        total += cost[<int64_t>i * cols + a.col_of[i]]
    return total


cdef inline void force_first_row(const int64_t* cost, int cols, Assignment* a) noexcept nogil:
    """Put into dist[j] how much dearer the best assignment is that gives column j to row 0.

    Giving j away makes j's row look for another column, whose row looks on, until one takes the column that row 0 leaves.
    Free columns take part as if rows of zeros held them. One search from row 0's column back to all answers for every j.
    """
    cdef int j, k, best, i, left = cols
    cdef int64_t low, reduced
    for j in range(cols):
        a.dist[j] = FAR
        a.todo[j] = j
    a.dist[a.col_of[0]] = 0
    while left:
        best = 0
        low = a.dist[a.todo[0]]
        for k in range(1, left):
            if a.dist[a.todo[k]] < low:
                low = a.dist[a.todo[k]]
                best = k
        if low >= FAR:
            break
        j = a.todo[best]
        left -= 1
        a.todo[best] = a.todo[left]
        for k in range(left):
            i = a.row_of[a.todo[k]]
            if i == NONE:
                reduced = -a.v[j]
            else:
                reduced = cost[<int64_t>i * cols + j] - a.u[i] - a.v[j]
            if low + reduced < a.dist[a.todo[k]]:
                a.dist[a.todo[k]] = low + reduced
    for j in range(cols):
        if a.dist[j] < FAR:
            a.dist[j] += cost[j] - a.u[0] - a.v[j]
