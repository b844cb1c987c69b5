"""Edit distance of ordered trees, by Zhang and Shasha's recurrence over key roots, in integers.

A deletion lifts the children, so this is not graph edit distance. A tree comes in two spellings, left to right and right to
left: the distance of a pair is the same in both, the number of steps is not, and the cheaper spelling is used.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np


cdef struct Tree:
    int n
    int keys
    const int32_t* label  # in postorder
    const int32_t* leaf  # first leaf of the subtree, in postorder
    const int32_t* root  # key roots, rising


cdef inline int64_t tree_pair(
    const Tree* a, const Tree* b, int64_t sub, int64_t rem, int64_t ins, int64_t* whole, int64_t* part
) noexcept nogil:
    """Fill ``whole`` (subtree against subtree) by way of ``part`` (forest against forest)."""
    cdef int x, y, i, j, i0, j0, m = b.n, wide = b.n + 1
    cdef int p, q, left
    cdef int64_t best, other
    cdef int64_t* row
    cdef const int64_t* above
    cdef const int64_t* far
    cdef int64_t* cells
    cdef bint spine
    if a.n == 0 or b.n == 0:
        return rem * a.n + ins * b.n
    for p in range(a.keys):
        x = a.root[p]
        i0 = a.leaf[x]
        for q in range(b.keys):
            y = b.root[q]
            j0 = b.leaf[y]
            part[i0 * wide + j0] = 0
            for i in range(i0, x + 1):
                part[(i + 1) * wide + j0] = part[i * wide + j0] + rem
            row = part + i0 * wide
            for j in range(j0, y + 1):
                row[j + 1] = row[j] + ins
            for i in range(i0, x + 1):
                above = part + i * wide
                row = part + (i + 1) * wide
                cells = whole + i * m
                spine = a.leaf[i] == i0
                far = part + a.leaf[i] * wide
                left = a.label[i]
                for j in range(j0, y + 1):
                    best = above[j + 1] + rem
                    other = row[j] + ins
                    if other < best:
                        best = other
                    if spine and b.leaf[j] == j0:
                        other = above[j] + (0 if left == b.label[j] else sub)
                        if other < best:
                            best = other
                        cells[j] = best
                    else:
                        other = far[b.leaf[j]] + cells[j]
                        if other < best:
                            best = other
                    row[j + 1] = best
    return whole[(a.n - 1) * m + b.n - 1]


def tree_distances(
    const int32_t[:, ::1] labels,
    const int32_t[:, ::1] leaves,
    const int32_t[:, ::1] roots,
    const int64_t[::1] node_at,
    const int64_t[:, ::1] root_at,
    const int64_t[:, ::1] steps,
    const int64_t[::1] first,
    const int64_t[::1] second,
    int64_t sub,
    int64_t rem,
    int64_t ins,
):
    """Compare pairs of trees.

    Args:
        labels: (2, nodes): labels in postorder, tree after tree, in both spellings.
        leaves: (2, nodes): each node's first leaf, as a number within its tree.
        roots: (2, roots): key roots of all trees.
        node_at: Where each tree's nodes start.
        root_at: (2, trees + 1): where each tree's key roots start.
        steps: (2, trees): sizes of the subtrees of all key roots added up; the product is the work of a pair.
        first: The first tree of each pair.
        second: The second tree of each pair.
        sub: Cost of a relabelling.
        rem: Cost of a deletion.
        ins: Cost of an insertion.

    Returns:
        int64[pairs].
    """
    cdef int64_t k, most = 1, trees = node_at.shape[0] - 1, pairs = first.shape[0]
    cdef int way
    cdef Tree a, b
    for k in range(trees):
        most = max(most, node_at[k + 1] - node_at[k])
    for k in range(pairs):
        if not (0 <= first[k] < trees and 0 <= second[k] < trees):
            raise IndexError(f"pair {k} names a tree that is not there")
    found = np.zeros(pairs, np.int64)
    cdef int64_t[::1] out = found
    cdef int64_t* whole = <int64_t*>malloc(most * most * sizeof(int64_t))
    cdef int64_t* part = <int64_t*>malloc((most + 1) * (most + 1) * sizeof(int64_t))
    if whole == NULL or part == NULL:
        free(whole)
        free(part)
        raise MemoryError(f"no memory to compare trees of {most} nodes")
    sub = min(sub, rem + ins)
    with nogil:
        for k in range(pairs):
            way = 1 if steps[1, first[k]] * steps[1, second[k]] < steps[0, first[k]] * steps[0, second[k]] else 0
            set_tree(&a, labels, leaves, roots, node_at, root_at, way, first[k])
            set_tree(&b, labels, leaves, roots, node_at, root_at, way, second[k])
            out[k] = tree_pair(&a, &b, sub, rem, ins, whole, part)
    free(whole)
    free(part)
    return found


cdef inline void set_tree(
    Tree* tree,
    const int32_t[:, ::1] labels,
    const int32_t[:, ::1] leaves,
    const int32_t[:, ::1] roots,
    const int64_t[::1] node_at,
    const int64_t[:, ::1] root_at,
    int way,
    int64_t k,
) noexcept nogil:
    tree.n = <int>(node_at[k + 1] - node_at[k])
    tree.keys = <int>(root_at[way, k + 1] - root_at[way, k])
    if tree.n == 0:
        return
    tree.label = &labels[way, node_at[k]]
    tree.leaf = &leaves[way, node_at[k]]
    tree.root = &roots[way, root_at[way, k]]
