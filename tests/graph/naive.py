"""The definitions, word for word and slow: graph edit distance over all mappings, tree edit distance by its recursion."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from samebits.core.seeds import rng_for
from samebits.graph.data import Edge, Graph
from samebits.graph.distance.costs import Costs

__all__ = ["brute_ged", "brute_ted", "edited", "mapping_price", "random_graph", "random_tree"]

ATOMS = ("C", "N", "O", "S", "F")
SHARES = (0.6, 0.15, 0.12, 0.08, 0.05)


def random_graph(
    seed: int, *address: int, nodes: int, directed: bool = False, extra: float = 0.15, loops: float = 0.0
) -> Graph:
    """A connected graph like a small molecule: a tree of near neighbours, some rings, few labels."""
    rng = rng_for(seed, "graph", *address)
    found: dict[tuple[int, int], str] = {}
    pairs = [(i, int(rng.integers(max(0, i - 3), i))) for i in range(1, nodes)]
    pairs += [
        (int(i), int(j)) for i, j in rng.integers(0, max(nodes, 1), (round(extra * nodes), 2)) if i != j
    ]
    pairs += [(i, i) for i in range(nodes) if rng.random() < loops]
    for i, j in pairs:
        if not directed or rng.random() < 0.5:
            i, j = min(i, j), max(i, j)
        found[i, j] = "=" if rng.random() < 0.25 else "-"
    labels = [ATOMS[k] for k in rng.choice(5, size=nodes, p=SHARES)]
    return Graph(labels=labels, edges=[(i, j, label) for (i, j), label in found.items()], directed=directed)


def edited(graph: Graph, seed: int, *address: int, edits: int) -> Graph:
    """The graph after a few random edits, with its nodes in another order."""
    rng = rng_for(seed, "edits", *address)
    labels = list(graph.labels)
    edges = {(u, v): label for u, v, label in graph.triples}
    for _ in range(edits):
        kind = int(rng.integers(3))
        i, j = (int(x) for x in rng.integers(0, len(labels), 2))
        if kind == 0:
            labels[i] = ATOMS[int(rng.integers(5))]
        elif kind == 1 and edges:
            del edges[sorted(edges)[int(rng.integers(len(edges)))]]
        elif i != j:
            edges[(i, j) if graph.directed else (min(i, j), max(i, j))] = "-"
    place = [int(x) for x in rng.permutation(len(labels))]
    moved: list[Any] = [None] * len(labels)
    for old, new in enumerate(place):
        moved[new] = labels[old]
    turned: list[Edge] = [(place[u], place[v], label) for (u, v), label in edges.items()]
    return Graph(labels=moved, edges=turned, directed=graph.directed)


def mapping_price(a: Graph, b: Graph, mapping: Sequence[int | None], costs: Costs) -> int:
    """What the edits of one mapping cost, counted from the definition."""
    node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins = costs.scaled().prices.tolist()
    rest = {(u, v): label for u, v, label in b.triples}
    price = int(node_ins) * (len(b) - sum(j is not None for j in mapping))
    for i, j in enumerate(mapping):
        price += node_del if j is None else node_sub * (a.labels[i] != b.labels[j])
    for u, v, label in a.triples:
        x, y = mapping[u], mapping[v]
        key = None if x is None or y is None else (x, y) if a.directed or x <= y else (y, x)
        if key is None or key not in rest:
            price += edge_del
        elif rest.pop(key) != label:
            price += min(edge_sub, edge_del + edge_ins)
    return price + int(edge_ins) * len(rest)


def brute_ged(a: Graph, b: Graph, costs: Costs) -> int:
    """The least price over every partial one-to-one mapping."""
    best = None
    for images in itertools.product([None, *range(len(b))], repeat=len(a)):
        used = [j for j in images if j is not None]
        if len(set(used)) == len(used):
            price = mapping_price(a, b, images, costs)
            best = price if best is None else min(best, price)
    assert best is not None
    return best


def random_tree(seed: int, *address: int, nodes: int) -> Any:
    """An ordered tree whose nodes hang from one of the six before them."""
    rng = rng_for(seed, "tree", *address)
    made: list[tuple[str, list[Any]]] = [("+", [])]
    for _ in range(nodes - 1):
        node: tuple[str, list[Any]] = ("+-*/0123"[int(rng.integers(8))], [])
        made[int(rng.integers(max(0, len(made) - 6), len(made)))][1].append(node)
        made.append(node)
    return made[0]


def brute_ted(a: Any, b: Any, sub: int = 1, rem: int = 1, ins: int = 1) -> int:
    """The recursion over forests that defines tree edit distance."""

    def frozen(tree: Any) -> Any:
        return tree[0], tuple(frozen(child) for child in tree[1])

    def size(forest: Any) -> int:
        return sum(1 + size(tree[1]) for tree in forest)

    @cache
    def distance(x: Any, y: Any) -> int:
        if not x or not y:
            return rem * size(x) + ins * size(y)
        (label, below), (other, under) = x[-1], y[-1]
        return min(
            distance(x[:-1] + below, y) + rem,
            distance(x, y[:-1] + under) + ins,
            distance(x[:-1], y[:-1])
            + distance(below, under)
            + (0 if label == other else min(sub, rem + ins)),
        )

    return distance((frozen(a),), (frozen(b),))


def pairs_of(numbers: int, pairs: int, seed: int) -> list[tuple[int, int]]:
    """Some pairs of numbers."""
    drawn: np.ndarray[Any, Any] = rng_for(seed, "pairs").integers(0, numbers, (pairs, 2))
    return [(int(i), int(j)) for i, j in drawn]
