"""GraphML, read by expat: one pass, line numbers in errors, no document type (so no entities that grow without end)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from samebits.errors import ConfigError, InputError
from samebits.graph.data import Graph, Label

__all__ = ["read_graphml"]


class _Wrong(Exception):  # never leaves this file
    """What is wrong, at the line where the parser is."""


@dataclass(slots=True)
class _Open:
    """The graph being read."""

    directed: bool
    ids: list[str] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    edges: list[tuple[str, str, int]] = field(default_factory=list)
    edge_labels: list[Label] = field(default_factory=list)


class _Reader:
    """Handlers of the parser and what they have seen so far."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        self.path = path
        self.wanted = {"node": node_label, "edge": edge_label}
        self.keys: dict[str, str] = {}  # id of a <key> -> name of the attribute
        self.graph: _Open | None = None
        self.inside = ""  # node or edge
        self.text: list[str] | None = None  # of the <data> that is wanted
        self.done: list[Graph] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.doctype

    def doctype(self, *_: object) -> None:
        raise _Wrong("a document type is not allowed in GraphML")

    def start(self, tag: str, about: dict[str, str]) -> None:
        """Take an opening tag; a prefix before a colon means nothing here."""
        match tag.rpartition(":")[2]:
            case "key":
                self.keys[about.get("id", "")] = about.get("attr.name", about.get("id", ""))
            case "graph":
                self.open_graph(about)
            case "node":
                self.open_node(about)
            case "edge":
                self.open_edge(about)
            case "hyperedge" | "port" as kind:
                raise _Wrong(f"<{kind}> cannot be compared")
            case "data" if self.inside:
                key = about.get("key", "")
                wanted = self.keys.get(key, key) == self.wanted[self.inside]
                self.text = [] if wanted else None

    def open_graph(self, about: dict[str, str]) -> None:
        if self.graph is not None:
            raise _Wrong("a graph inside a graph cannot be compared")
        self.graph = _Open(directed=about.get("edgedefault", "undirected") == "directed")

    def open_node(self, about: dict[str, str]) -> None:
        graph, name = self.graph, about.get("id")
        if graph is None or name is None:
            raise _Wrong("a node without an id, or outside a graph")
        if name in graph.number:
            raise _Wrong(f"two nodes have the id {name!r}")
        graph.number[name] = len(graph.ids)
        graph.ids.append(name)
        graph.labels.append(None)
        self.inside = "node"

    def open_edge(self, about: dict[str, str]) -> None:
        graph = self.graph
        if graph is None or "source" not in about or "target" not in about:
            raise _Wrong("an edge without source or target, or outside a graph")
        default = "true" if graph.directed else "false"
        if about.get("directed", default) != default:
            raise _Wrong("directed and undirected edges in one graph cannot be compared")
        graph.edges.append((about["source"], about["target"], self.parser.CurrentLineNumber))
        graph.edge_labels.append(None)
        self.inside = "edge"

    def characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        match tag.rpartition(":")[2]:
            case "data" if self.text is not None and self.graph is not None:
                labels = self.graph.labels if self.inside == "node" else self.graph.edge_labels
                labels[-1] = "".join(self.text)
                self.text = None
            case "node" | "edge":
                self.inside = ""
            case "graph" if self.graph is not None:
                self.done.append(self.closed(self.graph))
                self.graph = None

    def closed(self, graph: _Open) -> Graph:
        edges: list[tuple[int, int, Label]] = []
        seen: set[tuple[int, int]] = set()
        for (source, target, line), label in zip(graph.edges, graph.edge_labels, strict=True):
            for name in (source, target):
                if name not in graph.number:
                    raise InputError(
                        f"an edge leads to node {name!r}, which does not exist", path=self.path, line=line
                    )
            u, v = graph.number[source], graph.number[target]
            key = (u, v) if graph.directed or u <= v else (v, u)
            if key in seen:
                raise InputError(f"two edges between {source!r} and {target!r}", path=self.path, line=line)
            seen.add(key)
            edges.append((u, v, label))
        return Graph(labels=graph.labels, edges=edges, directed=graph.directed, ids=graph.ids)


def read_graphml(
    data: bytes, path: str, *, node_label: str = "label", edge_label: str = "label"
) -> Iterator[Graph]:
    """Yield every graph of a GraphML file; all labels are text.

    Raises:
        InputError: names the line.
    """
    reader = _Reader(path, node_label=node_label, edge_label=edge_label)
    try:
        reader.parser.Parse(data, True)
    except _Wrong as error:
        line = reader.parser.CurrentLineNumber
        raise InputError(str(error), path=path, line=line) from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"not valid XML: {reason}", path=path, line=error.lineno) from None
    except ConfigError as error:
        raise InputError(error.message, path=path, hint=error.hint) from None
    if not reader.done:
        raise InputError("no <graph> in this file", path=path)
    yield from reader.done
