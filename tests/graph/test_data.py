"""Graphs as values: what is accepted, what is refused and with which words, and the way through files and networkx."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from samebits.errors import ConfigError, InputError
from samebits.graph.data import Graph
from samebits.graph.formats.read import Reading, graph_files, read_graphs


def test_equal_graphs_are_equal_values_whatever_the_order_of_their_edges() -> None:
    first = Graph(labels=["a", "b", "c"], edges=[(2, 0, "x"), (0, 1)])
    second = Graph(labels=("a", "b", "c"), edges=((1, 0, None), (0, 2, "x")))
    assert first == second
    assert first.edges == ((0, 1, None), (0, 2, "x"))
    assert hash(first) == hash(second)


def test_directed_edges_keep_their_direction() -> None:
    graph = Graph(labels=["a", "b"], edges=[(1, 0), (0, 1)], directed=True)
    assert graph.edges == ((0, 1, None), (1, 0, None))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"labels": ["a"], "edges": [(0, 1)]}, "leads to node 1, but nodes are 0 to 0"),
        ({"labels": [], "edges": [(0, 0)]}, "leads nowhere"),
        ({"labels": ["a", "b"], "edges": [(0, True)]}, "leads to node True"),
        ({"labels": ["a", "b"], "edges": [(0, 1), (1, 0)]}, "two edges between nodes 1 and 0"),
        ({"labels": ["a"], "edges": ["ab"]}, "edge 0 is 'ab'"),
        ({"labels": [1.5]}, "the label of node 0 is 1.5"),
        ({"labels": ["a", "b"], "ids": ["x", "x"]}, "two nodes have the id 'x'"),
        ({"labels": ["a", "b"], "ids": ["x"]}, "1 ids for 2 nodes"),
        ({"labels": ["a"], "at": [(3, 1)]}, "node 0 is at"),
    ],
)
def test_a_bad_graph_is_refused_with_what_is_wrong(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        Graph(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_json_and_back_is_the_same_graph() -> None:
    graph = Graph(
        labels=["*", None, 3],
        edges=[(0, 1, "L"), (2, 2)],
        directed=True,
        ids=[8, "x", 9],
        at=[(8, 9), (0, 1), (2, 4)],
    )
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


def test_the_node_link_form_of_networkx_is_read() -> None:
    graph = nx.DiGraph()
    graph.add_node("p", label="C")
    graph.add_edge("p", "q", label=2)
    data = nx.node_link_data(graph, edges="links")
    expected = Graph(labels=["C", None], edges=[(0, 1, 2)], directed=True, ids=["p", "q"])
    assert Graph.from_json(data) == expected


def test_networkx_and_back_is_the_same_graph() -> None:
    graph = Graph(labels=["a", None, "b"], edges=[(0, 1, "x"), (1, 2), (2, 2, 7)], ids=["p", "q", "r"])
    assert Graph.from_networkx(graph.to_networkx()) == graph
    directed = Graph(labels=["a", "b"], edges=[(0, 1), (1, 0, "x")], directed=True, ids=[5, 6])
    assert Graph.from_networkx(directed.to_networkx()) == directed


def test_a_multigraph_and_an_unknown_attribute_are_refused() -> None:
    with pytest.raises(ConfigError, match="MultiGraph may have several edges"):
        Graph.from_networkx(nx.MultiGraph([(0, 1), (0, 1)]))
    graph = nx.Graph()
    graph.add_node(0, kind="C")
    with pytest.raises(ConfigError, match="did you mean 'kind'") as caught:
        Graph.from_networkx(graph, node_label="kimd")
    assert "node_label=None ignores them all" in caught.value.hint
    assert Graph.from_networkx(graph, node_label="kind").labels == ("C",)
    assert Graph.from_networkx(nx.path_graph(3)).labels == (None, None, None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "a graph is a JSON object"),
        ({"nodes": [{"id": 1}, {"id": 1}]}, "two nodes have the id 1: 0 and 1"),
        ({"nodes": [{"label": "a"}]}, "node 0 has no 'id'"),
        (
            {"nodes": [{"id": 1}], "edges": [{"from": 1, "to": 2}]},
            "edge 0 leads to node 2, which does not exist",
        ),
        ({"nodes": [{"id": 1}], "edges": [{"from": 1}]}, "edge 0 has no 'to'"),
        ({"nodes": {"id": 1}}, "'nodes' is not a list of objects"),
        ({"nodes": [], "multigraph": True}, "multigraph"),
        ({"nodes": [], "directed": "yes"}, "'directed' is 'yes'"),
        ({"nodes": [{"id": 1, "label": 0.5}]}, "the label of node 0 is 0.5"),
        ({"nodes": [{"id": 1, "at": [0, 1]}, {"id": 2}]}, "1 of 2 nodes have no place"),
    ],
)
def test_bad_json_names_the_line(value: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / "graphs.jsonl"
    path.write_text('{"nodes": []}\n\n' + json.dumps(value) + "\n")
    with pytest.raises(InputError, match=words) as caught:
        read_graphs(path)
    assert (caught.value.line, caught.value.path) == (3, str(path))


def test_rows_of_training_data_and_lists_are_read(tmp_path: Path) -> None:
    graph = Graph(labels=["a", "b"], edges=[(0, 1)], directed=True)
    (tmp_path / "b.jsonl").write_text(json.dumps({"id": "L2", "text": "1+2", "graph": graph.to_json()}))
    (tmp_path / "a.json").write_text(json.dumps([graph.to_json(), {"nodes": []}]))
    files = graph_files([str(tmp_path)])
    assert [path.name for path in files] == ["a.json", "b.jsonl"]
    assert [read_graphs(path) for path in files] == [[graph, Graph(labels=[])], [graph]]
    (tmp_path / "a.json").write_text('[{"nodes": []},\n\n oops]')
    with pytest.raises(InputError, match="line 3: not valid JSON"):
        read_graphs(tmp_path / "a.json")


def test_graphml_written_by_networkx_is_read(tmp_path: Path) -> None:
    graph = Graph(labels=["C", "N <&>"], edges=[(0, 1, "double")], directed=True, ids=["p", "q"])
    nx.write_graphml(graph.to_networkx(node_label="kind"), tmp_path / "g.graphml")
    assert read_graphs(tmp_path / "g.graphml", Reading(node_label="kind")) == [graph]


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ('<graph><node id="a"/>\n<edge source="a" target="b"/></graph>', 2, "leads to node 'b'"),
        ('<graph><node id="a"/>\n\n<node id="a"/></graph>', 3, "two nodes have the id 'a'"),
        (
            '<graph edgedefault="directed"><node id="a"/>\n<edge directed="false" source="a" target="a"/></graph>',
            2,
            "in one graph",
        ),
        ("<graph>", 1, "not valid XML"),
        ("", 1, "no <graph>"),
    ],
)
def test_bad_graphml_names_the_line(body: str, line: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(f"<graphml>{body}</graphml>")
    with pytest.raises(InputError, match=words) as caught:
        read_graphs(path)
    assert caught.value.line in (line, None)


def test_graphml_with_a_document_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text('<!DOCTYPE g [<!ENTITY a "b">]>\n<graphml/>')
    with pytest.raises(InputError, match="document type"):
        read_graphs(path)


def test_a_missing_file_and_an_unknown_suffix_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        graph_files([str(tmp_path / "none.json")])
    (tmp_path / "a.txt").touch()
    with pytest.raises(InputError, match="known graph format"):
        graph_files([str(tmp_path / "a.txt")])
    with pytest.raises(InputError, match="no graphs in this folder"):
        graph_files([str(tmp_path)])
