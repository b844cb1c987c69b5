"""GEXF, the form in which AIDS700nef and LINUX are passed round: attributes are declared once and named by number.

    <gexf><graph defaultedgetype="undirected">
      <attributes class="node"><attribute id="0" title="type" type="string"/></attributes>
      <nodes><node id="0" label="0"><attvalues><attvalue for="0" value="C"/></attvalues></node></nodes>
      <edges><edge source="0" target="1"/></edges>
    </graph></gexf>

A node's own ``label`` is its name on a screen, not what it is: only declared attributes are labels. All labels are text.
"""

from __future__ import annotations

from collections.abc import Iterator

from samebits.errors import InputError
from samebits.graph.data import Graph
from samebits.graph.formats.builder import GraphBuilder
from samebits.graph.formats.xml_file import MOST_TEXT, choose_attribute, parse_xml

__all__ = ["read_gexf"]


class _Reader:
    """Handlers, and what they have seen so far."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        self.path = path
        self.wanted = {"node": node_label, "edge": edge_label}
        self.titles: dict[tuple[str, str], str] = {}  # (node or edge, number) -> name of the attribute
        self.declares = ""  # node or edge, inside <attributes>
        self.graph: GraphBuilder | None = None
        self.inside = ""  # node or edge
        self.done: list[Graph] = []

    def wrong(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, line=line)

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "graph":
                if self.graph is not None:
                    raise self.wrong("a graph inside a graph cannot be compared", line)
                kind = about.get("defaultedgetype", "undirected")
                if kind not in ("directed", "undirected"):
                    raise self.wrong(f"edges of the type {kind!r} cannot be compared", line)
                self.graph = GraphBuilder(self.path, directed=kind == "directed")
            case "attributes":
                self.declares = about.get("class", "")
            case "attribute":
                number = about.get("id", "")
                self.titles[self.declares, number] = about.get("title", number)
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line)
            case "attvalue" if self.inside and self.graph is not None:
                self.take_value(self.graph, about, line)

    def open_node(self, about: dict[str, str], line: int) -> None:
        if self.graph is None or self.inside or "id" not in about:
            raise self.wrong("a node without an id, or outside a graph", line)
        self.graph.add_node(about["id"], None, line=line)
        self.inside = "node"

    def open_edge(self, about: dict[str, str], line: int) -> None:
        graph = self.graph
        if graph is None or self.inside or "source" not in about or "target" not in about:
            raise self.wrong("an edge without source or target, or outside a graph", line)
        own = "directed" if graph.directed else "undirected"
        if about.get("type", own) != own:
            raise self.wrong("directed and undirected edges in one graph cannot be compared", line)
        graph.add_edge(about["source"], about["target"], None, line=line)
        self.inside = "edge"

    def take_value(self, graph: GraphBuilder, about: dict[str, str], line: int) -> None:
        number = about.get("for", about.get("id", ""))
        title, value = self.titles.get((self.inside, number), number), about.get("value", "")
        if title and title == self.wanted[self.inside]:
            if len(value) > MOST_TEXT:
                raise self.wrong(f"a label of more than {MOST_TEXT:,} characters", line)
            (graph.labels if self.inside == "node" else graph.edge_labels)[-1] = value

    def text(self, text: str, line: int) -> None:
        """Pass over text: values are attributes here."""

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""
        match tag:
            case "node" | "edge":
                self.inside = ""
            case "graph" if self.graph is not None:
                self.done.append(self.graph.build())
                self.graph = None


def read_gexf(
    data: bytes, path: str, *, node_label: str = "label", edge_label: str = "label"
) -> Iterator[Graph]:
    """Yield every graph of a GEXF file.

    Raises:
        InputError: names the line; also if attributes are declared, but none of the wanted name.
    """
    reader = _Reader(path, node_label=node_label, edge_label=edge_label)
    parse_xml(data, path, reader)
    if not reader.done:
        raise InputError("no <graph> in this file", path=path)
    for kind, name in reader.wanted.items():
        names = {title for (owner, _), title in reader.titles.items() if owner == kind}
        choose_attribute(name, names, used=name in names, kind=kind, flag=f"--{kind}-label", path=path)
    yield from reader.done
