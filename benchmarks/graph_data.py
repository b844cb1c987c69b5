"""Generated graphs and trees for the graph benchmark: like small molecules, similar pairs, ordered trees. Same bytes every time."""

from __future__ import annotations

from typing import Any

from samebits.core.seeds import rng_for
from samebits.graph import Graph

__all__ = ["molecule", "similar", "tree"]

ATOMS = ("C", "N", "O", "S", "F")
SHARES = (0.6, 0.15, 0.12, 0.08, 0.05)


def molecule(number: int, nodes: int) -> Graph:
    """Return a connected graph: a tree of near neighbours, 15 % more edges, five atoms, two bonds."""
    rng = rng_for(1, "molecule", number, nodes)
    found: dict[tuple[int, int], str] = {}
    pairs = [(int(rng.integers(max(0, i - 3), i)), i) for i in range(1, nodes)]
    extra = rng.integers(0, nodes, (round(0.15 * nodes), 2)).tolist()
    pairs += [(min(i, j), max(i, j)) for i, j in extra if i != j]
    for pair in pairs:
        found[pair] = "=" if rng.random() < 0.25 else "-"
    labels = [ATOMS[k] for k in rng.choice(5, size=nodes, p=SHARES)]
    return Graph(labels=labels, edges=[(i, j, bond) for (i, j), bond in found.items()])


def similar(graph: Graph, number: int) -> Graph:
    """Return the graph after one to five random edits, nodes in another order."""
    rng = rng_for(1, "similar", number)
    labels = list(graph.labels)
    edges = {(u, v): label for u, v, label in graph.triples}
    for _ in range(int(rng.integers(1, 6))):
        kind = int(rng.integers(3))
        i, j = rng.integers(0, len(labels), 2).tolist()
        if kind == 0:
            labels[i] = ATOMS[int(rng.integers(5))]
        elif kind == 1 and edges:
            del edges[sorted(edges)[int(rng.integers(len(edges)))]]
        elif i != j:
            edges[min(i, j), max(i, j)] = "-"
    place = rng.permutation(len(labels)).tolist()
    moved = [labels[place.index(i)] for i in range(len(labels))]
    return Graph(labels=moved, edges=[(place[u], place[v], bond) for (u, v), bond in edges.items()])


def tree(number: int, nodes: int) -> Any:
    """Return an ordered tree like a small expression."""
    rng = rng_for(1, "tree", number, nodes)
    made: list[tuple[str, list[Any]]] = [("0", [])]
    for _ in range(nodes - 1):
        node: tuple[str, list[Any]] = ("+-*/0123456789"[int(rng.integers(14))], [])
        made[int(rng.integers(max(0, len(made) - 6), len(made)))][1].append(node)
        made.append(node)
    return made[0]
