"""Shapes of pairs that people reported as never ending or wrong elsewhere; generated, solved exactly, in states not seconds."""

from __future__ import annotations

import networkx as nx
import pytest
from tests.graph.naive import edited, random_graph

from samebits import graph
from samebits.errors import ConfigError
from samebits.graph import Costs, Graph, ged


def test_ten_against_twelve_nodes_ends_with_a_proof() -> None:
    # networkx issue 2997: did not end
    for k in range(10):
        a = random_graph(71, k, nodes=10)
        grown = edited(a, 71, k, edits=3)
        labels, edges = [*grown.labels, "C", "N"], [*grown.triples, (0, 10, "-"), (10, 11, "-")]
        found = ged(a, Graph(labels=labels, edges=edges))
        assert found.exact
        assert found.upper <= 4 + 3


def test_eleven_against_sixteen_nodes_ends_with_a_proof() -> None:
    # networkx issue 6229: eight hours, and no word on how accurate an interim answer is
    for k in range(6):
        found = ged(random_graph(73, k, nodes=11), random_graph(79, k, nodes=16), budget=200_000)
        assert found.exact


def test_one_graph_against_two_thousand_of_thirty_nodes_is_a_search_for_neighbours() -> None:
    # networkx issue 4113: one query against a corpus
    corpus = [random_graph(83, k, nodes=30) for k in range(2000)]
    query = edited(corpus[1234], 83, edits=2)
    index, distance, certified = graph.knn([query], corpus, k=1, budget=300)
    assert (index.tolist(), certified.tolist()) == ([[1234]], [True])
    assert distance[0, 0] <= 2


def test_costs_are_plain_numbers() -> None:
    # networkx issue 3941: costs had to be functions
    assert ged(Graph(labels="a"), Graph(labels="b"), costs=Costs(node_sub=0.5)).upper * 2 == 1


def test_the_names_of_nodes_are_no_labels_unless_one_says_so() -> None:
    # networkx issue 2361: names ignored without a word
    a, b = nx.Graph(), nx.Graph()
    a.add_node("x", kind="C")
    b.add_node("y", kind="C")
    with pytest.raises(ConfigError, match="no node has that attribute"):
        ged(a, b)
    same = [Graph.from_networkx(g, node_label="kind") for g in (a, b)]
    assert ged(*same).upper == 0
    named = [Graph(labels=item.ids) for item in same]
    assert ged(*named).upper == 1
