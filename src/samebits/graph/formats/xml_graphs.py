"""What readers of graphs in XML share: where they are in a file, nodes and edges, and the text of a label."""

from __future__ import annotations

from samebits.errors import InputError
from samebits.graph.data import Graph
from samebits.graph.formats.builder import GraphBuilder
from samebits.graph.formats.xml_file import MOST_TEXT

__all__ = ["XmlGraphs"]


class XmlGraphs:
    """The graphs of one file as far as they are read; a format adds what its opening tags mean.

    Args:
        path: Name of the file, for errors.
        node_label: Attribute of nodes that is their label.
        edge_label: The same for edges.
    """

    ends = ("source", "target")  # attributes of an edge that name its nodes
    ends_missing = "an edge without source or target, or outside a graph"

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        self.path = path
        self.wanted = {"node": node_label, "edge": edge_label}
        self.graph: GraphBuilder | None = None
        self.inside = ""  # node or edge
        self.piece: list[str] | None = None  # text of the label, while it is read
        self.length = 0
        self.done: list[Graph] = []

    def wrong(self, message: str, line: int, *, hint: str = "") -> InputError:
        """Return an error that names the line."""
        return InputError(message, path=self.path, line=line, hint=hint)

    def open_graph(self, line: int, *, directed: bool) -> None:
        """Begin a graph."""
        if self.graph is not None:
            raise self.wrong("a graph inside a graph cannot be compared", line)
        self.graph = GraphBuilder(self.path, directed=directed)

    def open_node(self, about: dict[str, str], line: int) -> None:
        """Add a node; its label comes later."""
        if self.graph is None or self.inside or "id" not in about:
            raise self.wrong("a node without an id, or outside a graph", line)
        self.graph.add_node(about["id"], None, line=line)
        self.inside = "node"

    def open_edge(self, about: dict[str, str], line: int, *, says: str, ways: tuple[str, str]) -> None:
        """Add an edge; ``says`` is the attribute about its direction, and ``ways`` what directed and undirected ones say."""
        graph, (first, second) = self.graph, self.ends
        if graph is None or self.inside or first not in about or second not in about:
            raise self.wrong(self.ends_missing, line)
        own = ways[0] if graph.directed else ways[1]
        if about.get(says, own) != own:
            raise self.wrong("directed and undirected edges in one graph cannot be compared", line)
        graph.add_edge(about[first], about[second], None, line=line)
        self.inside = "edge"

    def text(self, text: str, line: int) -> None:
        """Keep text of the label."""
        if self.piece is None:
            return
        self.length += len(text)
        if self.length > MOST_TEXT:
            raise self.wrong(f"a label of more than {MOST_TEXT:,} characters", line)
        self.piece.append(text)

    def label(self, value: str) -> None:
        """Give the open node or edge its label."""
        assert self.graph is not None, "a label is inside a node or an edge"
        (self.graph.labels if self.inside == "node" else self.graph.edge_labels)[-1] = value

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        if tag in ("node", "edge"):
            self.inside = ""
        elif tag == "graph" and self.graph is not None:
            self.done.append(self.graph.build())
            self.graph = None
