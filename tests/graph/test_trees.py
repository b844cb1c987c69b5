"""Tree edit distance against its recursion, in both spellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.graph.naive import brute_ted, pairs_of, random_graph, random_tree

from samebits.errors import ConfigError
from samebits.graph import Costs, Graph, aligned_ged, ged, ted
from samebits.graph.distance.trees import compare_trees, pack_trees, tree_of


@pytest.mark.parametrize("prices", [(1, 1, 1), (3, 2, 1), (0, 1, 1), (9, 2, 3)], ids=str)
def test_it_equals_the_recursion(prices: tuple[int, int, int]) -> None:
    trees = [random_tree(1, k, nodes=1 + k % 8) for k in range(40)]
    pairs = pairs_of(40, 60, 1)
    first, second = np.array(pairs, np.int64).T.copy()
    found = compare_trees(pack_trees(trees), first, second, Costs(*prices).scaled())
    assert found.tolist() == [brute_ted(trees[i], trees[j], *prices) for i, j in pairs]


def test_both_spellings_give_the_same_distance() -> None:
    def mirrored(tree: Any) -> Any:
        return tree[0], [mirrored(child) for child in reversed(tree[1])]

    for k in range(40):
        a, b = random_tree(2, k, nodes=20), random_tree(3, k, nodes=17)
        assert ted(a, b) == ted(mirrored(a), mirrored(b)) == ted(b, a)


def test_a_deep_tree_needs_no_deep_stack() -> None:
    tree: Any = ("leaf", [])
    for _ in range(3000):
        tree = ("node", [tree])
    assert ted(tree, ("node", [("leaf", [])])) == 2999


def test_order_counts_and_deleting_lifts_the_children() -> None:
    a: Any = ("+", [("*", [("1", []), ("2", [])])])
    assert ted(a, ("+", [("1", []), ("2", [])])) == 1
    assert ted(a, ("+", [("*", [("2", []), ("1", [])])])) == 2


def test_a_directed_graph_can_be_a_tree() -> None:
    graph = Graph(labels=["+", "2", "3"], edges=[(0, 1), (0, 2)], directed=True)
    assert tree_of(graph) == ("+", [("2", []), ("3", [])])
    assert ted(graph, ("+", [("2", [])])) == 1


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (Graph(labels="ab", edges=[(0, 1)]), "needs directed edges"),
        (Graph(labels="abc", edges=[(0, 2), (1, 2)], directed=True), "has 2 parents"),
        (Graph(labels="ab", directed=True), "2 of 2 nodes have no parent"),
        (Graph(labels=[], directed=True), "0 of 0 nodes"),
        (Graph(labels="abc", edges=[(1, 2), (2, 1)], directed=True), "cycle"),
        ("ab", "is not a tree"),
        (("a", "bc"), "is not a tree"),
        (("a", [("b",)]), "is not a tree"),
        ((1.5, []), "neither text nor a whole number"),
    ],
)
def test_what_is_not_a_tree_is_refused(tree: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ted(tree, ("a", []))


def test_a_tree_of_too_many_nodes_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than 10,000 nodes"):
        ted(("r", [("a", [])] * 10_001), ("r", []))


def test_the_aligned_distance_is_an_upper_bound_and_counts_wrong_heads_twice() -> None:
    for k in range(40):
        a = random_graph(5, k, nodes=6, directed=k % 2 == 0)
        b = random_graph(6, k, nodes=7, directed=k % 2 == 0)
        assert aligned_ged(a, b) >= ged(a, b).upper
        assert aligned_ged(a, a) == 0
    gold = Graph(labels=["w"] * 3, edges=[(0, 1, "obj"), (0, 2, "subj")], directed=True)
    wrong = Graph(labels=["w"] * 3, edges=[(2, 1, "obj"), (0, 2, "nsubj")], directed=True)
    assert aligned_ged(wrong, gold) == 3


def test_alignment_goes_by_place_in_the_text_then_by_id() -> None:
    a = Graph(labels=["1", "+"], edges=[(1, 0)], directed=True, at=[(0, 1), (2, 3)])
    b = Graph(labels=["+", "1", "2"], edges=[(0, 1), (0, 2)], directed=True, at=[(2, 3), (0, 1), (4, 5)])
    assert aligned_ged(a, b) == 2
    assert aligned_ged(Graph(labels="ab", ids=["x", "y"]), Graph(labels="ba", ids=["y", "x"])) == 0
    with pytest.raises(ConfigError, match="two nodes are at one place"):
        aligned_ged(Graph(labels="ab", directed=True, at=[(0, 1), (0, 1)]), b)
    with pytest.raises(ConfigError, match="a directed and an undirected"):
        aligned_ged(Graph(labels="ab"), b)
