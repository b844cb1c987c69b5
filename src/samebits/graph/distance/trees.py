"""Ordered trees and their edit distance. Not graph edit distance: deleting a node lifts its children, order counts.

A tree is ``(label, [children])``, or a directed Graph with one root whose children are ordered by node number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError
from samebits.graph.data import Graph, Label
from samebits.graph.distance.costs import Costs, Number, Scaled
from samebits.kernels.graph.trees import tree_distances

__all__ = ["Tree", "TreeSet", "compare_trees", "pack_trees", "ted", "tree_of"]

Tree = tuple[Label, Sequence[Any]]
MOST_TREE_NODES = 10_000  # two tables of that many cells squared, 1.6 GB, are what one pair takes


@dataclass(frozen=True, slots=True)
class TreeSet:
    """Trees one after the other, each spelled left to right (row 0) and right to left (row 1); see the kernel."""

    labels: NDArray[np.int32]
    leaves: NDArray[np.int32]
    roots: NDArray[np.int32]
    node_at: NDArray[np.int64]
    root_at: NDArray[np.int64]
    steps: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.node_at) - 1


def tree_of(graph: Graph) -> Tree:
    """Turn a directed graph into a tree; edges lead from parent to child, children are ordered by number.

    Raises:
        ConfigError: if it is not a tree, with the node that shows it.
    """
    if not graph.directed:
        raise ConfigError("an ordered tree needs directed edges, from parent to child")
    children: list[list[int]] = [[] for _ in graph.labels]
    heads = [0] * len(graph)
    for u, v, _ in graph.triples:
        children[u].append(v)
        heads[v] += 1
    roots = [i for i, count in enumerate(heads) if count == 0]
    crowded = next((i for i, count in enumerate(heads) if count > 1), None)
    if crowded is not None:
        raise ConfigError(f"not a tree: node {graph.name_of(crowded)!r} has {heads[crowded]} parents")
    if len(roots) != 1:
        raise ConfigError(f"not a tree: {len(roots)} of {len(graph)} nodes have no parent, one must")
    nodes: list[Tree] = [(label, []) for label in graph.labels]
    for own, below in zip(nodes, children, strict=True):
        own[1].extend(nodes[k] for k in below)  # type: ignore[attr-defined]  # made a list two lines above
    reached = [roots[0]]
    for node in reached:  # grows while it is walked
        reached += children[node]
    if len(reached) != len(graph):
        raise ConfigError("not a tree: it has a cycle")
    return nodes[roots[0]]


def _spell(tree: Any, number: dict[Label, int], *, back: bool) -> tuple[list[int], list[int]]:
    """Return labels and first leaves in postorder; an explicit stack, so depth is not limited."""
    labels: list[int] = []
    leaves: list[int] = []
    stack: list[tuple[Any, int, list[int]]] = [(_checked(tree), 0, [])]
    while stack:
        node, done, first = stack.pop()
        below = node[1]
        if done < len(below):
            child = below[len(below) - 1 - done] if back else below[done]
            stack += [(node, done + 1, first), (_checked(child), 0, [])]
            if len(labels) + len(stack) > MOST_TREE_NODES:
                raise ConfigError(f"a tree of more than {MOST_TREE_NODES:,} nodes cannot be compared")
            continue
        leaf = first[0] if first else len(labels)
        labels.append(number.setdefault(node[0], len(number)))
        leaves.append(leaf)
        if stack and not stack[-1][2]:
            stack[-1][2].append(leaf)
    return labels, leaves


def _checked(node: Any) -> Any:
    whole = isinstance(node, Sequence) and not isinstance(node, str) and len(node) == 2
    if not whole or not isinstance(node[1], Sequence) or isinstance(node[1], str):
        raise ConfigError(f"{node!r} is not a tree", hint="write (label, [children])")
    if node[0] is not None and not isinstance(node[0], str | int):
        raise ConfigError(f"the label {node[0]!r} is neither text nor a whole number")
    return node


def pack_trees(trees: Sequence[Any]) -> TreeSet:
    """Spell every tree both ways and lay them out.

    Raises:
        ConfigError: for what is not a tree.
    """
    plain = [tree_of(tree) if isinstance(tree, Graph) else tree for tree in trees]
    number: dict[Label, int] = {}
    spelled = [[_spell(tree, number, back=back) for tree in plain] for back in (False, True)]
    labels = [[label for labels, _ in row for label in labels] for row in spelled]
    leaves = [[leaf for _, row_leaves in row for leaf in row_leaves] for row in spelled]
    keys = [[sorted({leaf: i for i, leaf in enumerate(own)}.values()) for _, own in row] for row in spelled]
    steps = [
        [sum(i - own[i] + 1 for i in roots) for (_, own), roots in zip(row, row_keys, strict=True)]
        for row, row_keys in zip(spelled, keys, strict=True)
    ]
    most = max(sum(map(len, row)) for row in keys)
    roots = np.zeros((2, most), np.int32)
    for way, row in enumerate(keys):
        flat = [root for own in row for root in own]
        roots[way, : len(flat)] = flat
    return TreeSet(
        np.array(labels, np.int32).reshape(2, -1),
        np.array(leaves, np.int32).reshape(2, -1),
        roots,
        np.cumsum([0, *(len(own) for own, _ in spelled[0])], dtype=np.int64),
        np.array([np.cumsum([0, *map(len, row)]) for row in keys], np.int64),
        np.array(steps, np.int64).reshape(2, -1),
    )


def compare_trees(
    trees: TreeSet, first: NDArray[np.int64], second: NDArray[np.int64], scaled: Scaled
) -> NDArray[np.int64]:
    """Return the distances of pairs, in scaled units; the node costs count, trees have no edge costs."""
    sub, rem, ins = scaled.prices[:3].tolist()
    return tree_distances(
        trees.labels,
        trees.leaves,
        trees.roots,
        trees.node_at,
        trees.root_at,
        trees.steps,
        first,
        second,
        sub,
        rem,
        ins,
    )


def ted(a: Any, b: Any, *, costs: Costs | None = None) -> Number:
    """Return the edit distance of two ordered trees, exactly.

    >>> ted(("+", [("2", []), ("3", [])]), ("+", [("3", []), ("2", [])]))
    2

    Args:
        a: ``(label, [children])``, or a directed Graph that is a tree.
        b: The same.
        costs: node_sub, node_del and node_ins count; 1 each if not given.

    Raises:
        ConfigError: for what is not a tree.
    """
    scaled = (costs or Costs()).scaled()
    pair = np.array([0], np.int64), np.array([1], np.int64)
    return scaled.value(int(compare_trees(pack_trees([a, b]), *pair, scaled)[0]))
