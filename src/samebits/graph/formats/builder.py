"""One graph while a file is read: nodes and edges by their names, and the line of whatever is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from samebits.errors import InputError
from samebits.graph.data import Graph, Label, NodeId

__all__ = ["GraphBuilder"]


@dataclass(slots=True)
class GraphBuilder:
    """Collects what a reader finds and makes a ``Graph`` of it; edges may come before their nodes.

    Attributes:
        path: The file, for errors.
        directed: Whether edges have a direction.
        labels: One for each node so far; readers that meet a label after its node write it here.
        edge_labels: The same for edges.
    """

    path: str
    directed: bool
    labels: list[Label] = field(default_factory=list)
    edge_labels: list[Label] = field(default_factory=list)
    _number: dict[NodeId, int] = field(default_factory=dict)
    _edges: list[tuple[NodeId, NodeId, int]] = field(default_factory=list)

    def add_node(self, name: NodeId, label: Label, *, line: int) -> None:
        """Add a node.

        Raises:
            InputError: if there is one of that name.
        """
        if name in self._number:
            raise InputError(f"two nodes have the id {name!r}", path=self.path, line=line)
        self._number[name] = len(self.labels)
        self.labels.append(label)

    def add_edge(self, source: NodeId, target: NodeId, label: Label, *, line: int) -> None:
        """Add an edge; its ends are looked up when the graph is complete."""
        self._edges.append((source, target, line))
        self.edge_labels.append(label)

    def build(self) -> Graph:
        """Return the graph.

        Raises:
            InputError: names the line of an edge to nowhere or of a second edge between two nodes.
        """
        seen: set[tuple[int, int]] = set()
        edges: list[tuple[int, int, Label]] = []
        for (source, target, line), label in zip(self._edges, self.edge_labels, strict=True):
            u, v = (self._find(name, line) for name in (source, target))
            key = (u, v) if self.directed or u <= v else (v, u)
            if key in seen:
                raise InputError(
                    f"two edges between {source!r} and {target!r}",
                    path=self.path,
                    line=line,
                    hint="keep one of them: edit distance compares one edge with one edge",
                )
            seen.add(key)
            edges.append((u, v, label))
        names = list(self._number)
        plain = names == list(range(len(names)))
        return Graph(labels=self.labels, edges=edges, directed=self.directed, ids=() if plain else names)

    def _find(self, name: NodeId, line: int) -> int:
        found = self._number.get(name)
        if found is None:
            raise InputError(
                f"an edge leads to node {name!r}, which does not exist", path=self.path, line=line
            )
        return found
