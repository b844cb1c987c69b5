"""GraphML, as networkx, yEd and igraph write it; a document type is refused."""

from __future__ import annotations

from collections.abc import Iterator

from samebits.errors import InputError
from samebits.graph.data import Graph
from samebits.graph.formats.xml_file import parse_xml
from samebits.graph.formats.xml_graphs import XmlGraphs

__all__ = ["read_graphml"]


class _Reader(XmlGraphs):
    """Keys, and the data that nodes and edges have under them."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        super().__init__(path, node_label=node_label, edge_label=edge_label)
        self.keys: dict[str, str] = {}  # id of a <key> -> name of the attribute

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "key":
                self.keys[about.get("id", "")] = about.get("attr.name", about.get("id", ""))
            case "graph":
                self.open_graph(line, directed=about.get("edgedefault", "undirected") == "directed")
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line, says="directed", ways=("true", "false"))
            case "hyperedge" | "port":
                raise self.wrong(f"<{tag}> cannot be compared", line)
            case "data" if self.inside:
                key = about.get("key", "")
                wanted = self.keys.get(key, key) == self.wanted[self.inside]
                self.piece, self.length = [] if wanted else None, 0

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        if tag == "data" and self.piece is not None:
            self.label("".join(self.piece))
            self.piece = None
        super().end(tag, line)


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
