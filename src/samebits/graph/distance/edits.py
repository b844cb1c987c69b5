"""The edits that a mapping between two graphs means, in a fixed order, and a graph after them.

Nodes that stay are named by their number in the first graph, new ones by ``"+"`` and their number in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from samebits.errors import ConfigError
from samebits.graph.data import Edge, Graph, Label
from samebits.graph.distance.costs import Costs, Number

__all__ = ["Edit", "Kind", "apply_edits", "edit_script", "script_cost"]

Kind = Literal["delete edge", "delete node", "relabel node", "insert node", "insert edge", "relabel edge"]
Place = int | str  # a node of the first graph, or "+3": node 3 of the second, inserted


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes:
        kind: What is done.
        where: The node, or the two ends of the edge.
        old: The label before; None where there was nothing or no label.
        new: The label after.
        cost: What it costs, in scaled units.
    """

    kind: Kind
    where: tuple[Place, ...]
    old: Label
    new: Label
    cost: int

    def __str__(self) -> str:
        place = " - ".join(map(str, self.where))
        match self.kind.partition(" ")[0]:
            case "relabel":
                return f"{self.kind} {place}: {self.old!r} -> {self.new!r}"
            case "delete":
                label = self.old
            case _:
                label = self.new
        return f"{self.kind} {place}" + ("" if label is None else f" ({label!r})")


def edit_script(a: Graph, b: Graph, mapping: Sequence[int | None], costs: Costs) -> tuple[Edit, ...]:
    """Return the edits that turn a into b along a mapping.

    Order: edge deletions, node deletions, node relabellings, node insertions, edge insertions, edge relabellings. An edge
    whose relabelling would cost more than deleting and inserting it is deleted and inserted.

    Args:
        a: The first graph.
        b: The second.
        mapping: For each node of a its node of b, or None where it is deleted.
        costs: The costs.
    """
    node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins = costs.scaled().prices.tolist()
    back: dict[int, Place] = {j: i for i, j in enumerate(mapping) if j is not None}
    if len(back) != sum(j is not None for j in mapping):
        raise ConfigError("two nodes are mapped to one", hint="a mapping takes every node to a different one")
    places = [back.get(j, f"+{j}") for j in range(len(b))]
    gone, new, changed = _edge_changes(a, b, mapping)
    if edge_sub > edge_del + edge_ins:
        gone += [(u, v, old) for u, v, old, _ in changed]
        new += [(*_image(a, mapping, u, v), label) for u, v, _, label in changed]
        changed = []
    found = [Edit("delete edge", (u, v), label, None, edge_del) for u, v, label in sorted(gone, key=_ends)]
    found += [
        Edit("delete node", (i,), a.labels[i], None, node_del) for i, j in enumerate(mapping) if j is None
    ]
    found += [
        Edit("relabel node", (i,), a.labels[i], b.labels[j], node_sub)
        for i, j in enumerate(mapping)
        if j is not None and a.labels[i] != b.labels[j]
    ]
    found += [
        Edit("insert node", (place,), None, b.labels[j], node_ins)
        for j, place in enumerate(places)
        if j not in back
    ]
    found += [
        Edit("insert edge", (places[u], places[v]), None, label, edge_ins)
        for u, v, label in sorted(new, key=_ends)
    ]
    found += [Edit("relabel edge", (u, v), old, label, edge_sub) for u, v, old, label in changed]
    return tuple(found)


def _ends(edge: Edge) -> tuple[int, int]:
    return edge[0], edge[1]


def _image(a: Graph, mapping: Sequence[int | None], u: int, v: int) -> tuple[int, int]:
    """Return where an edge between mapped nodes goes, spelled as the second graph spells it."""
    x, y = mapping[u], mapping[v]
    assert x is not None
    assert y is not None
    return (x, y) if a.directed or x <= y else (y, x)


def _edge_changes(
    a: Graph, b: Graph, mapping: Sequence[int | None]
) -> tuple[list[Edge], list[Edge], list[tuple[int, int, Label, Label]]]:
    """Return edges of a that go, edges of b that come, and edges that get another label."""
    rest = {(u, v): label for u, v, label in b.triples}
    gone: list[Edge] = []
    changed: list[tuple[int, int, Label, Label]] = []
    for u, v, old in a.triples:
        if mapping[u] is None or mapping[v] is None:
            gone.append((u, v, old))
            continue
        key = _image(a, mapping, u, v)
        if key not in rest:
            gone.append((u, v, old))
            continue
        label = rest.pop(key)
        if label != old:
            changed.append((u, v, old, label))
    return gone, [(u, v, label) for (u, v), label in rest.items()], changed


def script_cost(edits: Sequence[Edit], costs: Costs) -> Number:
    """Return what a script costs."""
    return costs.scaled().value(sum(edit.cost for edit in edits))


def apply_edits(a: Graph, edits: Sequence[Edit]) -> tuple[Graph, list[Place]]:
    """Apply a script to a graph.

    Returns:
        The new graph, and the place of each of its nodes.

    Raises:
        ConfigError: if an edit does not fit, e.g. deletes an edge that is not there.
    """
    labels: dict[Place, Label] = dict(enumerate(a.labels))
    edges: dict[tuple[Place, ...], Label] = {(u, v): label for u, v, label in a.triples}
    for edit in edits:
        kind, _, what = edit.kind.partition(" ")
        table: dict[tuple[Place, ...], Label] = (
            edges if what == "edge" else {(p,): n for p, n in labels.items()}
        )
        key = edit.where
        if what == "edge" and not a.directed and key not in edges and key[::-1] in edges:
            key = key[::-1]
        if (kind == "insert") == (key in table) or (kind != "insert" and table[key] != edit.old):
            raise ConfigError(f"{edit}: does not fit the graph")
        if kind == "delete":
            del table[key]
        else:
            table[key] = edit.new
        if what == "node":
            labels = {place[0]: label for place, label in table.items()}
    places = list(labels)
    number = {place: i for i, place in enumerate(places)}
    kept: list[Edge] = []
    for ends, label in edges.items():
        if ends[0] not in number or ends[1] not in number:
            raise ConfigError(f"edge {ends} is left over without its nodes")
        kept.append((number[ends[0]], number[ends[1]], label))
    return Graph(labels=list(labels.values()), edges=kept, directed=a.directed), places
