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
from samebits.graph.formats.xml_file import choose_attribute, parse_xml
from samebits.graph.formats.xml_graphs import XmlGraphs

__all__ = ["read_gxl"]

SEVERAL = ("seq", "set", "bag", "tup")


class _Reader(XmlGraphs):
    """Attributes of nodes and edges, one inside another at times."""

    ends = ("from", "to")
    ends_missing = "an edge without 'from' or 'to', or outside a graph"

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        super().__init__(path, node_label=node_label, edge_label=edge_label)
        self.known: dict[str, set[str]] = {"node": set(), "edge": set()}
        self.attributes = 0  # how many <attr> are open

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "graph":
                mode = about.get("edgemode", "directed")  # what the format says if a file does not
                if mode.removeprefix("default") not in ("directed", "undirected"):
                    raise self.wrong(f"edgemode is {mode!r}", line, hint="known: directed, undirected")
                self.open_graph(line, directed=mode.removeprefix("default") == "directed")
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line, says="isdirected", ways=("true", "false"))
            case "rel" | "relend":
                raise self.wrong("a relation of several nodes cannot be compared", line)
            case "attr":
                self.open_attribute(about)
            case _ if tag in SEVERAL and self.piece is not None:
                raise self.wrong(f"the label is a <{tag}>", line, hint="labels are single values")

    def open_attribute(self, about: dict[str, str]) -> None:
        self.attributes += 1
        if not self.inside or self.attributes > 1:
            return
        name = about.get("name", "")
        self.known[self.inside].add(name)
        if name and name == self.wanted[self.inside]:
            self.piece, self.length = [], 0

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        if tag == "attr":
            self.attributes -= 1
            if self.attributes == 0 and self.piece is not None:
                self.label("".join(self.piece).strip())
                self.piece = None
        super().end(tag, line)


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
