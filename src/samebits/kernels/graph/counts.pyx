"""The cheapest lower bound of graph edit distance: labels counted, nodes and edges apart. One graph against many."""

from libc.stdint cimport int32_t, int64_t

import numpy as np


cdef inline int64_t turn(int64_t s1, int64_t s2, int64_t shared, int64_t sub, int64_t rem, int64_t ins) noexcept nogil:
    """Least cost of turning s1 labels into s2 when so many are shared."""
    cdef int64_t both = s1 if s1 < s2 else s2
    return (both - shared) * sub + rem * (s1 - both) + ins * (s2 - both)


cdef inline int64_t shared_labels(
    const int32_t[::1] labels, int64_t start, int64_t stop, int32_t[::1] left
) noexcept nogil:
    """Count how many labels of a range find one of their own in the table; the table is put back."""
    cdef int64_t e, shared = 0
    for e in range(start, stop):
        if left[labels[e]] > 0:
            shared += 1
        left[labels[e]] -= 1
    for e in range(start, stop):
        left[labels[e]] += 1
    return shared


def count_bounds(
    const int32_t[::1] labels,
    const int64_t[::1] node_at,
    const int32_t[::1] edge_labels,
    const int64_t[::1] edge_at,
    int64_t query,
    const int64_t[::1] corpus,
    const int64_t[::1] prices,
    int64_t num_labels,
    int64_t num_edge_labels,
):
    """Bound the distance of one graph to each of some others.

    Args:
        labels: Node labels of all graphs.
        node_at: Where each graph's nodes start.
        edge_labels: Edge labels of all graphs, 1 or more.
        edge_at: Where each graph's edges start.
        query: The graph.
        corpus: The others.
        prices: node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins.
        num_labels: Node labels are below this.
        num_edge_labels: Largest edge label.

    Returns:
        int64[len(corpus)], in the unit of the prices.
    """
    cdef int64_t k, g, e, shared, n = node_at[query + 1] - node_at[query], m = edge_at[query + 1] - edge_at[query]
    cdef int64_t node_sub = min(prices[0], prices[1] + prices[2]), edge_sub = min(prices[3], prices[4] + prices[5])
    cdef int64_t graphs = node_at.shape[0] - 1
    for k in range(corpus.shape[0]):
        if not 0 <= corpus[k] < graphs:
            raise IndexError(f"graph {corpus[k]} is not there")
    found = np.zeros(corpus.shape[0], np.int64)
    cdef int64_t[::1] out = found
    cdef int32_t[::1] nodes = np.zeros(num_labels + 1, np.int32)
    cdef int32_t[::1] edges = np.zeros(num_edge_labels + 1, np.int32)
    with nogil:
        for e in range(node_at[query], node_at[query + 1]):
            nodes[labels[e]] += 1
        for e in range(edge_at[query], edge_at[query + 1]):
            edges[edge_labels[e]] += 1
        for k in range(corpus.shape[0]):
            g = corpus[k]
            shared = shared_labels(labels, node_at[g], node_at[g + 1], nodes)
            out[k] = turn(n, node_at[g + 1] - node_at[g], shared, node_sub, prices[1], prices[2])
            shared = shared_labels(edge_labels, edge_at[g], edge_at[g + 1], edges)
            out[k] += turn(m, edge_at[g + 1] - edge_at[g], shared, edge_sub, prices[4], prices[5])
    return found
