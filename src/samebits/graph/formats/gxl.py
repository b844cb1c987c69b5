"""GXL, the form in which the IAM sets (AIDS, Mutagenicity, Letter ...) are published: ``<attr>`` holds what a node is.

    <gxl><graph id="m1" edgemode="undirected">
      <node id="_1"><attr name="symbol"><string>C  </string></attr></node>
      <edge from="_1" to="_2"><attr name="valence"><int>1</int></attr></edge>
    </graph></gxl>

All labels are text, without the spaces around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from samebits.errors import InputError
from samebits.graph.data import Graph
from samebits.graph.formats.builder import GraphBuilder
from samebits.graph.formats.xml_file import MOST_TEXT, choose_attribute, parse_xml

__all__ = ["read_gxl"]

SEVERAL = ("seq", "set", "bag", "tup")


class _Reader:
    """Handlers, and what they have seen so far."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        self.path = path
        self.wanted = {"node": node_label, "edge": edge_label}
        self.known: dict[str, set[str]] = {"node": set(), "edge": set()}
        self.graph: GraphBuilder | None = None
        self.inside = ""  # node or edge
        self.attributes = 0  # how many <attr> are open
        self.piece: list[str] | None = None  # text of the attribute that is wanted
        self.length = 0
        self.done: list[Graph] = []

    def wrong(self, message: str, line: int, *, hint: str = "") -> InputError:
        return InputError(message, path=self.path, line=line, hint=hint)

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "graph":
                self.open_graph(about, line)
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line)
            case "rel" | "relend":
                raise self.wrong("a relation of several nodes cannot be compared", line)
            case "attr":
                self.open_attribute(about, line)
            case _ if tag in SEVERAL and self.piece is not None:
                raise self.wrong(f"the label is a <{tag}>", line, hint="labels are single values")

    def open_graph(self, about: dict[str, str], line: int) -> None:
        if self.graph is not None:
            raise self.wrong("a graph inside a graph cannot be compared", line)
        mode = about.get("edgemode", "directed")  # what the format says if a file does not
        if mode.removeprefix("default") not in ("directed", "undirected"):
            raise self.wrong(f"edgemode is {mode!r}", line, hint="known: directed, undirected")
        self.graph = GraphBuilder(self.path, directed=mode.removeprefix("default") == "directed")

    def open_node(self, about: dict[str, str], line: int) -> None:
        if self.graph is None or self.inside or "id" not in about:
            raise self.wrong("a node without an id, or outside a graph", line)
        self.graph.add_node(about["id"], None, line=line)
        self.inside = "node"

    def open_edge(self, about: dict[str, str], line: int) -> None:
        graph = self.graph
        if graph is None or self.inside or "from" not in about or "to" not in about:
            raise self.wrong("an edge without 'from' or 'to', or outside a graph", line)
        own = "true" if graph.directed else "false"
        if about.get("isdirected", own) != own:
            raise self.wrong("directed and undirected edges in one graph cannot be compared", line)
        graph.add_edge(about["from"], about["to"], None, line=line)
        self.inside = "edge"

    def open_attribute(self, about: dict[str, str], line: int) -> None:
        self.attributes += 1
        if not self.inside or self.attributes > 1:
            return
        name = about.get("name", "")
        self.known[self.inside].add(name)
        if name and name == self.wanted[self.inside]:
            self.piece, self.length = [], 0

    def text(self, text: str, line: int) -> None:
        """Keep text of the wanted attribute."""
        if self.piece is None:
            return
        self.length += len(text)
        if self.length > MOST_TEXT:
            raise self.wrong(f"a label of more than {MOST_TEXT:,} characters", line)
        self.piece.append(text)

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        match tag:
            case "attr":
                self.attributes -= 1
                if self.attributes == 0 and self.piece is not None and self.graph is not None:
                    labels = self.graph.labels if self.inside == "node" else self.graph.edge_labels
                    labels[-1] = "".join(self.piece).strip()
                    self.piece = None
            case "node" | "edge":
                self.inside = ""
            case "graph" if self.graph is not None:
                self.done.append(self.graph.build())
                self.graph = None


def read_gxl(
    data: bytes, path: str, *, node_label: str = "label", edge_label: str = "label"
) -> Iterator[Graph]:
    """Yield every graph of a GXL file.

    Raises:
        InputError: names the line; also if nodes or edges have attributes, but none of the wanted name.
    """
    reader = _Reader(path, node_label=node_label, edge_label=edge_label)
    parse_xml(data, path, reader, allow_doctype=True)
    if not reader.done:
        raise InputError("no <graph> in this file", path=path)
    for kind, name in reader.wanted.items():
        names = reader.known[kind]
        choose_attribute(name, names, used=name in names, kind=kind, flag=f"--{kind}-label", path=path)
    yield from reader.done
