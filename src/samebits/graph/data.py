"""A labelled graph as plain values: what distances, drawings and models share.

Nodes are the numbers 0..n-1 with a label each; an edge is (from, to, label). Labels are compared, never measured, so
they are text, whole numbers or None (no label). A graph has at most one edge between two nodes in one direction: edit
distance has no agreed meaning for more. ``ids`` are the names the nodes had outside, ``at`` their places in a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samebits.errors import ConfigError, did_you_mean

__all__ = ["Edge", "Graph", "Label", "NodeId"]

Label = str | int | None
NodeId = str | int
Edge = tuple[int, int, Label]
ENDS = (("from", "to"), ("source", "target"))  # ours, and that of networkx and most of JavaScript


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph whose nodes and edges have labels.

    Sequences are turned into tuples; edges may leave out their label; edges are kept sorted, those of an undirected
    graph with the smaller node first, so that equal graphs are equal values.

    >>> Graph(labels=["+", "2", "3"], edges=[(0, 2, "R"), (0, 1, "L")], directed=True).edges
    ((0, 1, 'L'), (0, 2, 'R'))
    >>> Graph(labels=["C", "O"], edges=[(1, 0)]).edges
    ((0, 1, None),)

    Attributes:
        labels: One label for each node.
        edges: (from, to, label), each pair of nodes at most once; self loops are allowed.
        directed: Whether (0, 1) and (1, 0) are two edges.
        ids: A name for each node; empty means 0, 1, 2 ...
        at: A span of characters for each node, for graphs over a text; empty means none.

    Raises:
        ConfigError: for an edge to nowhere, a repeated edge or id, or a label that cannot be compared.
    """

    labels: Sequence[Label]
    edges: Sequence[Edge | tuple[int, int]] = ()
    directed: bool = False
    ids: Sequence[NodeId] = ()
    at: Sequence[tuple[int, int]] = ()

    def _repr_svg_(self) -> str:
        """Draw it in a notebook."""
        from samebits.graph.pictures.draw import draw_graph

        return draw_graph(self)

    def __post_init__(self) -> None:
        put = object.__setattr__  # frozen: only here, before anyone has seen the value
        put(self, "labels", tuple(_label(value, f"node {i}") for i, value in enumerate(self.labels)))
        put(self, "edges", _edges(self.edges, len(self.labels), directed=self.directed))
        put(self, "ids", _ids(self.ids, len(self.labels)))
        put(self, "at", _spans(self.at, len(self.labels)))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def triples(self) -> tuple[Edge, ...]:
        """The edges, as three-tuples for type checkers."""
        return self.edges  # type: ignore[return-value]  # made so by __post_init__

    def name_of(self, node: int) -> NodeId:
        """Return the outside name of a node, or its number."""
        return self.ids[node] if self.ids else node

    @classmethod
    def from_networkx(
        cls, graph: Any, *, node_label: str | None = "label", edge_label: str | None = "label"
    ) -> Graph:
        """Take a networkx Graph or DiGraph.

        Args:
            graph: The graph; node names become ``ids`` (other names than text and whole numbers as their ``repr``).
            node_label: Attribute that holds a node's label; None ignores all of them. The name of a node is not its
                label: give it an attribute if it should count.
            edge_label: The same for edges.

        Raises:
            ConfigError: for a MultiGraph, or when an attribute was named that no node or edge has.
        """
        if graph.is_multigraph():
            raise ConfigError(
                f"a {type(graph).__name__} may have several edges between two nodes, which edit distance cannot compare",
                hint="turn it into a Graph or DiGraph first: networkx.Graph(g)",
            )
        nodes = list(graph.nodes(data=True))
        number = {name: i for i, (name, _) in enumerate(nodes)}
        links = list(graph.edges(data=True))
        _check_attribute(node_label, [data for _, data in nodes], "node_label")
        _check_attribute(edge_label, [data for *_, data in links], "edge_label")
        return cls(
            labels=[_taken(data, node_label) for _, data in nodes],
            edges=[(number[u], number[v], _taken(data, edge_label)) for u, v, data in links],
            directed=graph.is_directed(),
            ids=[name if type(name) in (str, int) else repr(name) for name, _ in nodes],
        )

    def to_networkx(self, *, node_label: str = "label", edge_label: str = "label") -> Any:
        """Return a networkx Graph or DiGraph; nodes are named by ``ids``, labels that are None are left out."""
        import networkx as nx

        graph = nx.DiGraph() if self.directed else nx.Graph()
        for i, label in enumerate(self.labels):
            graph.add_node(self.name_of(i), **({} if label is None else {node_label: label}))
        for u, v, label in self.triples:
            named = {} if label is None else {edge_label: label}
            graph.add_edge(self.name_of(u), self.name_of(v), **named)
        return graph

    @classmethod
    def from_json(
        cls, value: Any, *, node_label: str = "label", edge_label: str = "label", directed: bool | None = None
    ) -> Graph:
        """Take what ``to_json`` gives, or networkx's node-link form.

        Args:
            value: ``{"directed": ..., "nodes": [{"id": ..., "label": ...}], "edges": [{"from": ..., "to": ...}]}``.
            node_label: Key of a node's label.
            edge_label: Key of an edge's label.
            directed: What to take a graph for that does not say; without it, undirected.

        Raises:
            ConfigError: says what is wrong with which node or edge.
        """
        if not isinstance(value, Mapping):
            raise ConfigError(
                f"a graph is a JSON object, not {_kind(value)}", hint='{"nodes": [], "edges": []}'
            )
        if value.get("multigraph"):
            raise ConfigError(
                "a multigraph may have several edges between two nodes, which cannot be compared"
            )
        nodes = _items(value, "nodes")
        links = _items(value, "links" if "links" in value and "edges" not in value else "edges")
        ids = [_key(node, "id", f"node {i}") for i, node in enumerate(nodes)]
        number: dict[tuple[type, NodeId], int] = {}
        for i, name in enumerate(ids):
            if number.setdefault((type(name), name), i) != i:
                raise ConfigError(f"two nodes have the id {name!r}: {number[type(name), name]} and {i}")
        said = value.get("directed", bool(directed))
        if not isinstance(said, bool):
            raise ConfigError(f"'directed' is {said!r}", hint="write true or false")
        spans = [node["at"] for node in nodes if "at" in node]
        if spans and len(spans) < len(nodes):
            raise ConfigError(
                f"{len(nodes) - len(spans)} of {len(nodes)} nodes have no place in the text: 'at'"
            )
        return cls(
            labels=[node.get(node_label) for node in nodes],
            edges=[_json_edge(link, i, number, edge_label) for i, link in enumerate(links)],
            directed=said,
            ids=ids if ids != list(range(len(ids))) else (),
            at=spans,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data that ``from_json`` takes back; labels that are None are left out."""
        nodes: list[dict[str, Any]] = []
        for i, label in enumerate(self.labels):
            node: dict[str, Any] = {"id": self.name_of(i)}
            if label is not None:
                node["label"] = label
            if self.at:
                node["at"] = list(self.at[i])
            nodes.append(node)
        edges = [
            {"from": self.name_of(u), "to": self.name_of(v), **({} if label is None else {"label": label})}
            for u, v, label in self.triples
        ]
        return {"directed": self.directed, "nodes": nodes, "edges": edges}


def _label(value: Any, where: str) -> Label:
    if value is None or isinstance(value, str | int):
        return value
    raise ConfigError(
        f"the label of {where} is {value!r}: {_kind(value)}",
        hint="labels are compared, not measured: use text, whole numbers or None",
    )


def _edges(edges: Iterable[Any], num_nodes: int, *, directed: bool) -> tuple[Edge, ...]:
    found: dict[tuple[int, int], Label] = {}
    for i, edge in enumerate(edges):
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) not in (2, 3):
            raise ConfigError(f"edge {i} is {edge!r}", hint="write (from, to) or (from, to, label)")
        u, v = edge[0], edge[1]
        for node in (u, v):
            if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < num_nodes:
                raise ConfigError(
                    f"edge {i} ({u!r}, {v!r}) leads to node {node!r}, but nodes are 0 to {num_nodes - 1}"
                    if num_nodes
                    else f"edge {i} ({u!r}, {v!r}) leads nowhere: the graph has no nodes"
                )
        key = (u, v) if directed or u <= v else (v, u)
        if key in found:
            raise ConfigError(f"two edges between nodes {u} and {v}", hint="keep one of them")
        found[key] = _label(edge[2] if len(edge) == 3 else None, f"edge {i}")
    return tuple((u, v, found[u, v]) for u, v in sorted(found))


def _ids(ids: Iterable[Any], num_nodes: int) -> tuple[NodeId, ...]:
    names = tuple(ids)
    if not names:
        return ()
    if len(names) != num_nodes:
        raise ConfigError(f"{len(names)} ids for {num_nodes} nodes")
    seen: set[tuple[type, NodeId]] = set()
    for name in names:
        if type(name) not in (str, int):
            raise ConfigError(f"the id {name!r} is {_kind(name)}", hint="ids are text or whole numbers")
        if (type(name), name) in seen:
            raise ConfigError(f"two nodes have the id {name!r}")
        seen.add((type(name), name))
    return names


def _spans(spans: Iterable[Any], num_nodes: int) -> tuple[tuple[int, int], ...]:
    found = []
    for i, span in enumerate(spans):
        whole = isinstance(span, Sequence) and len(span) == 2 and all(type(place) is int for place in span)
        if not whole or not 0 <= span[0] <= span[1]:
            raise ConfigError(f"node {i} is at {span!r}", hint="'at' is [start, stop] in characters")
        found.append((span[0], span[1]))
    if found and len(found) != num_nodes:
        raise ConfigError(f"{len(found)} places for {num_nodes} nodes")
    return tuple(found)


def _check_attribute(name: str | None, items: Sequence[Mapping[str, Any]], argument: str) -> None:
    """Refuse a name that nothing has; the default may be absent everywhere if there is nothing to choose from."""
    known = sorted({str(key) for data in items for key in data})
    if name is None or not known or any(name in data for data in items):
        return
    raise ConfigError(
        f"{argument}={name!r}, but no {argument.partition('_')[0]} has that attribute",
        hint=f"{did_you_mean(name, known)} {argument}=None ignores them all",
    )


def _taken(data: Mapping[str, Any], name: str | None) -> Label:
    value = None if name is None else data.get(name)
    return repr(value) if isinstance(value, float) else value


def _items(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise ConfigError(f"{key!r} is not a list of objects", hint=f'{{"{key}": [{{...}}, {{...}}]}}')
    return found


def _key(item: Mapping[str, Any], key: str, where: str) -> NodeId:
    found = item.get(key)
    if isinstance(found, str) or type(found) is int:
        return found
    raise ConfigError(f"{where} has no {key!r} that is text or a whole number: {dict(item)!r}")


def _json_edge(
    link: Mapping[str, Any], i: int, number: Mapping[tuple[type, NodeId], int], edge_label: str
) -> tuple[int, int, Any]:
    keys = next((pair for pair in ENDS if pair[0] in link), ENDS[0])
    ends = []
    for key in keys:
        name = _key(link, key, f"edge {i}")
        if (type(name), name) not in number:
            raise ConfigError(f"edge {i} leads to node {name!r}, which does not exist")
        ends.append(number[type(name), name])
    return ends[0], ends[1], link.get(edge_label)


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
