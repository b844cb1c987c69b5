"""Distances of pairs of a packed set: the kernel where graphs are small enough for a table, an honest interval elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.pack import GraphSet
from samebits.kernels.graph.distance import distances

__all__ = ["MOST_NODES", "NO_LIMIT", "Compared", "compare_pairs", "no_places"]

# Up to here a table of all pairs of nodes and its assignment take well under a second; above, only counts are compared.
MOST_NODES = 512
NO_LIMIT = 1 << 60
PLACE_HEAD = 3  # numbers of a place before one for each level and one for each node


class Compared(NamedTuple):
    """Pairs in the order asked for; bounds in scaled units.

    ``places`` holds where each search stopped, if it was asked for: a row that begins with 0 has ended.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    expansions: NDArray[np.int64]
    images: list[NDArray[np.int32]]
    places: NDArray[np.int64]


def compare_pairs(
    graphs: GraphSet,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    scaled: Scaled,
    *,
    budget: int,
    limit: int = NO_LIMIT,
    with_mappings: bool = False,
    places: NDArray[np.int64] | None = None,
) -> Compared:
    """Compare pairs of graphs.

    Args:
        graphs: The set.
        first: Number of each pair's first graph.
        second: Number of its second graph.
        scaled: The costs.
        budget: States to look at for each pair.
        limit: A distance of this or more (scaled) need only be proven to be so.
        with_mappings: Whether to return the image of every node of the first graphs, -1 where it is deleted.
        places: Where the searches of an earlier call stopped, to go on from there; ``no_places`` to begin. For graphs of at
            most ``MOST_NODES`` nodes only.
    """
    sizes = graphs.sizes
    large = np.maximum(sizes[first], sizes[second]) > MOST_NODES
    if large.any():
        return _compare_some_large(graphs, first, second, scaled, budget, limit, with_mappings, large)
    doubled = np.full(len(first), min(2 * limit, NO_LIMIT), np.int64)
    lower, upper, spent, flat, stopped = distances(
        graphs.labels,
        graphs.node_at,
        graphs.sources,
        graphs.targets,
        graphs.edge_labels,
        graphs.edge_at,
        first,
        second,
        doubled,
        scaled.prices,
        scaled.grain,
        graphs.directed,
        graphs.num_edge_labels,
        budget,
        with_mappings,
        places,
    )
    images = np.split(flat, np.cumsum(sizes[first])[:-1]) if with_mappings else []
    return Compared(lower // 2, upper // 2, spent, images, stopped)


def no_places(graphs: GraphSet, pairs: int) -> NDArray[np.int64]:
    """Return the places of searches that have not begun."""
    return np.zeros((pairs, PLACE_HEAD + 2 * max(1, int(graphs.sizes.max(initial=0)))), np.int64)


def _compare_some_large(
    graphs: GraphSet,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    scaled: Scaled,
    budget: int,
    limit: int,
    with_mappings: bool,
    large: NDArray[np.bool_],
) -> Compared:
    """Give the kernel what it can hold and count the labels of the rest."""
    lower, upper, spent = (np.zeros(len(first), np.int64) for _ in range(3))
    images: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(first)
    small = np.flatnonzero(~large)
    if len(small):
        part = compare_pairs(
            _without_large(graphs),
            first[small],
            second[small],
            scaled,
            budget=budget,
            limit=limit,
            with_mappings=with_mappings,
        )
        lower[small], upper[small], spent[small] = part.lower, part.upper, part.expansions
        for k, image in zip(small.tolist(), part.images, strict=False):
            images[k] = image
    for k in np.flatnonzero(large).tolist():
        lower[k], upper[k], images[k] = _count_labels(graphs, int(first[k]), int(second[k]), scaled)
    return Compared(lower, upper, spent, images if with_mappings else [], np.zeros((len(first), 0), np.int64))


def _without_large(graphs: GraphSet) -> GraphSet:
    """Empty the large graphs, so that the kernel does not make room for them; numbers stay."""
    keep = graphs.sizes <= MOST_NODES
    nodes, edges = np.repeat(keep, graphs.sizes), np.repeat(keep, np.diff(graphs.edge_at))
    return GraphSet(
        graphs.labels[nodes],
        np.concatenate([[0], np.cumsum(np.where(keep, graphs.sizes, 0))]),
        graphs.sources[edges],
        graphs.targets[edges],
        graphs.edge_labels[edges],
        np.concatenate([[0], np.cumsum(np.where(keep, np.diff(graphs.edge_at), 0))]),
        graphs.directed,
        graphs.num_labels,
        graphs.num_edge_labels,
    )


def _count_labels(graphs: GraphSet, a: int, b: int, scaled: Scaled) -> tuple[int, int, NDArray[np.int32]]:
    """Bound two large graphs: below by their label counts, above by pairing equal labels, most edges first."""
    node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins = scaled.prices.tolist()
    edges = [Counter(graphs.edges_of(g)[2].tolist()) for g in (a, b)]
    nodes = [Counter(graphs.labels_of(g).tolist()) for g in (a, b)]
    lower = _multiset(nodes, node_sub, node_del, node_ins) + _multiset(edges, edge_sub, edge_del, edge_ins)
    image = _pair_labels(graphs, a, b, allow_sub=node_sub <= node_del + node_ins)
    kept = image >= 0
    changed = graphs.labels_of(a)[kept] != graphs.labels_of(b)[image[kept]]
    mapped = int(kept.sum())
    upper = node_sub * int(changed.sum()) + node_del * (len(image) - mapped)
    upper += node_ins * (int(graphs.sizes[b]) - mapped)
    upper += _edge_edits(graphs, a, b, image, (min(edge_sub, edge_del + edge_ins), edge_del, edge_ins))
    return lower, upper, image


def _multiset(counts: list[Counter[int]], sub: int, rem: int, ins: int) -> int:
    sizes = [count.total() for count in counts]
    shared = (counts[0] & counts[1]).total()
    both = min(sizes)
    return (both - shared) * min(sub, rem + ins) + rem * (sizes[0] - both) + ins * (sizes[1] - both)


def _pair_labels(graphs: GraphSet, a: int, b: int, *, allow_sub: bool) -> NDArray[np.int32]:
    """Map nodes of equal label onto each other in order of falling degree; what is left over in the same order."""
    queues: list[dict[int, list[int]]] = []
    for g in (a, b):
        sources, targets, _ = graphs.edges_of(g)
        size = int(graphs.sizes[g])
        degree = np.bincount(sources, minlength=size) + np.bincount(targets, minlength=size)
        queue: dict[int, list[int]] = {}
        for node in np.lexsort((np.arange(size), -degree)).tolist():
            queue.setdefault(int(graphs.labels_of(g)[node]), []).append(node)
        queues.append(queue)
    image = np.full(int(graphs.sizes[a]), -1, np.int32)
    rest: list[list[int]] = [[], []]
    for label in [*queues[0], *(label for label in queues[1] if label not in queues[0])]:
        own, other = (queue.get(label, []) for queue in queues)
        for u, v in zip(own, other, strict=False):
            image[u] = v
        rest[0] += own[len(other) :]
        rest[1] += other[len(own) :]
    if allow_sub:
        for u, v in zip(*rest, strict=False):
            image[u] = v
    return image


def _edge_edits(
    graphs: GraphSet, a: int, b: int, image: NDArray[np.int32], prices: tuple[int, int, int]
) -> int:
    """Cost of the edges under a mapping."""
    sub, rem, ins = prices
    found = {(int(u), int(v)): int(label) for u, v, label in zip(*graphs.edges_of(b), strict=True)}
    cost = ins * len(found)
    for u, v, label in zip(*graphs.edges_of(a), strict=True):
        x, y = int(image[u]), int(image[v])
        other = found.get((x, y) if graphs.directed or x <= y else (y, x))
        cost += rem if other is None else (0 if other == label else sub) - ins
    return cost
