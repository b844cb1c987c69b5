"""GraphML, as networkx, yEd and igraph write it; a document type is refused."""

from __future__ import annotations

from collections.abc import Iterator

from samebits.errors import InputError
from samebits.graph.data import Graph
from samebits.graph.formats.builder import GraphBuilder
from samebits.graph.formats.xml_file import MOST_TEXT, parse_xml

__all__ = ["read_graphml"]


class _Reader:
    """Handlers, and what they have seen so far."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        self.path = path
        self.wanted = {"node": node_label, "edge": edge_label}
        self.keys: dict[str, str] = {}  # id of a <key> -> name of the attribute
        self.graph: GraphBuilder | None = None
        self.inside = ""  # node or edge
        self.piece: list[str] | None = None  # text of the <data> that is wanted
        self.length = 0
        self.done: list[Graph] = []

    def wrong(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, line=line)

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "key":
                self.keys[about.get("id", "")] = about.get("attr.name", about.get("id", ""))
            case "graph":
                if self.graph is not None:
                    raise self.wrong("a graph inside a graph cannot be compared", line)
                directed = about.get("edgedefault", "undirected") == "directed"
                self.graph = GraphBuilder(self.path, directed=directed)
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line)
            case "hyperedge" | "port":
                raise self.wrong(f"<{tag}> cannot be compared", line)
            case "data" if self.inside:
                key = about.get("key", "")
                wanted = self.keys.get(key, key) == self.wanted[self.inside]
                self.piece, self.length = [] if wanted else None, 0

    def open_node(self, about: dict[str, str], line: int) -> None:
        if self.graph is None or "id" not in about:
            raise self.wrong("a node without an id, or outside a graph", line)
        self.graph.add_node(about["id"], None, line=line)
        self.inside = "node"

    def open_edge(self, about: dict[str, str], line: int) -> None:
        graph = self.graph
        if graph is None or "source" not in about or "target" not in about:
            raise self.wrong("an edge without source or target, or outside a graph", line)
        own = "true" if graph.directed else "false"
        if about.get("directed", own) != own:
            raise self.wrong("directed and undirected edges in one graph cannot be compared", line)
        graph.add_edge(about["source"], about["target"], None, line=line)
        self.inside = "edge"

    def text(self, text: str, line: int) -> None:
        """Keep text of the wanted data."""
        if self.piece is None:
            return
        self.length += len(text)
        if self.length > MOST_TEXT:
            raise self.wrong(f"a label of more than {MOST_TEXT:,} characters", line)
        self.piece.append(text)

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        match tag:
            case "data" if self.piece is not None and self.graph is not None:
                labels = self.graph.labels if self.inside == "node" else self.graph.edge_labels
                labels[-1] = "".join(self.piece)
                self.piece = None
            case "node" | "edge":
                self.inside = ""
            case "graph" if self.graph is not None:
                self.done.append(self.graph.build())
                self.graph = None


def read_graphml(
    data: bytes, path: str, *, node_label: str = "label", edge_label: str = "label"
) -> Iterator[Graph]:
    """Yield every graph of a GraphML file; all labels are text.

    Raises:
        InputError: names the line.
    """
    reader = _Reader(path, node_label=node_label, edge_label=edge_label)
    parse_xml(data, path, reader)
    if not reader.done:
        raise InputError("no <graph> in this file", path=path)
    yield from reader.done
