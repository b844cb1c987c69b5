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
from samebits.graph.formats.xml_file import MOST_TEXT, choose_attribute, parse_xml
from samebits.graph.formats.xml_graphs import XmlGraphs

__all__ = ["read_gexf"]


class _Reader(XmlGraphs):
    """Attributes by number, and what nodes and edges say of them."""

    def __init__(self, path: str, *, node_label: str, edge_label: str) -> None:
        super().__init__(path, node_label=node_label, edge_label=edge_label)
        self.titles: dict[tuple[str, str], str] = {}  # (node or edge, number) -> name of the attribute
        self.declares = ""  # node or edge, inside <attributes>

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag."""
        match tag:
            case "graph":
                kind = about.get("defaultedgetype", "undirected")
                if kind not in ("directed", "undirected"):
                    raise self.wrong(f"edges of the type {kind!r} cannot be compared", line)
                self.open_graph(line, directed=kind == "directed")
            case "attributes":
                self.declares = about.get("class", "")
            case "attribute":
                number = about.get("id", "")
                self.titles[self.declares, number] = about.get("title", number)
            case "node":
                self.open_node(about, line)
            case "edge":
                self.open_edge(about, line, says="type", ways=("directed", "undirected"))
            case "attvalue" if self.inside:
                self.take_value(about, line)

    def take_value(self, about: dict[str, str], line: int) -> None:
        number = about.get("for", about.get("id", ""))
        title, value = self.titles.get((self.inside, number), number), about.get("value", "")
        if title and title == self.wanted[self.inside]:
            if len(value) > MOST_TEXT:
                raise self.wrong(f"a label of more than {MOST_TEXT:,} characters", line)
            self.label(value)


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
