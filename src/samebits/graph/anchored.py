"""Graphs whose nodes lie on positions of a text: the form in which graphs are learned and predicted.

A position is a character (code point) of a text or a word of a sentence. Every node has one head at most; a node without
one is a root. This is the graph of the curriculum and of CoNLL-U, and what one softmax per position can say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["ROOT", "ROOT_ARC", "Anchored", "as_json", "from_json"]

ROOT = -1
ROOT_ARC = "root"


@dataclass(frozen=True, slots=True)
class Anchored:
    """A graph over positions.

    Attributes:
        at: Positions of the nodes, ascending; also their ids.
        labels: Label of each node.
        heads: Position of each node's head, or ``ROOT``.
        arcs: Label of the arc that enters each node; ``ROOT_ARC`` for a root.
    """

    at: tuple[int, ...]
    labels: tuple[str, ...]
    heads: tuple[int, ...]
    arcs: tuple[str, ...]

    def children(self) -> dict[int, list[int]]:
        """Return head position -> positions of its children, ascending; roots are below ``ROOT``."""
        found: dict[int, list[int]] = {}
        for position, head in zip(self.at, self.heads, strict=True):
            found.setdefault(head, []).append(position)
        return found


def as_json(graph: Anchored) -> dict[str, Any]:
    """Return the graph as examples hold it: ids are positions, ``at`` the span of the first character.

    >>> as_json(Anchored((0, 2), ("int", "+"), (2, ROOT), ("L", ROOT_ARC)))["edges"]
    [{'from': 2, 'to': 0, 'label': 'L'}]
    """
    nodes = [
        {"id": position, "label": label, "at": [position, position + 1]}
        for position, label in zip(graph.at, graph.labels, strict=True)
    ]
    edges = [
        {"from": head, "to": position, "label": arc}
        for position, head, arc in zip(graph.at, graph.heads, graph.arcs, strict=True)
        if head != ROOT
    ]
    return {"directed": True, "nodes": nodes, "edges": edges}


def from_json(value: Any, *, length: int) -> Anchored:
    """Read the ``graph`` of an example and check that it can be learned.

    Args:
        value: The object with ``nodes`` and ``edges``.
        length: Number of positions of the text.

    Raises:
        ValueError: says what is wrong: a node without an anchor, an anchor outside the text, overlapping anchors,
            a duplicate id, an edge to nowhere, a self loop, two heads, a cycle.
    """
    if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
        raise ValueError("the graph has no list of nodes")
    if not isinstance(value.get("edges", []), list):
        raise ValueError("the edges of the graph are not a list")
    spans, labels = _nodes(value["nodes"], length)
    heads, arcs = _heads(value.get("edges", []), spans)
    place = {node: span[0] for node, span in spans.items()}
    order = sorted(spans, key=lambda node: place[node])
    for left, right in pairwise(order):
        if spans[left][1] > spans[right][0]:
            raise ValueError(
                f"overlapping anchors: nodes {left!r} at {spans[left]}, {right!r} at {spans[right]}"
            )
    graph = Anchored(
        tuple(place[node] for node in order),
        tuple(labels[node] for node in order),
        tuple(place[heads[node]] if node in heads else ROOT for node in order),
        tuple(arcs.get(node, ROOT_ARC) for node in order),
    )
    _refuse_cycle(graph)
    return graph


def _nodes(nodes: list[Any], length: int) -> tuple[dict[Any, tuple[int, int]], dict[Any, str]]:
    spans: dict[Any, tuple[int, int]] = {}
    labels: dict[Any, str] = {}
    for node in nodes:
        if not isinstance(node, dict) or not isinstance(node.get("id"), int | str):
            raise ValueError(f"a node without an id: {node!r}")
        name, label, at = node["id"], node.get("label"), node.get("at")
        if name in spans:
            raise ValueError(f"duplicate node id {name!r}")
        if not isinstance(label, str) or not label:
            raise ValueError(f"node {name!r} has no label")
        if not (isinstance(at, list) and len(at) == 2 and all(type(x) is int for x in at)):
            raise ValueError(f"node {name!r} has no anchor like [3, 4]")
        if not 0 <= at[0] < at[1] <= length:
            raise ValueError(f"node {name!r} at {at} is outside the text of {length} characters")
        spans[name], labels[name] = (at[0], at[1]), label
    return spans, labels


def _heads(edges: list[Any], spans: dict[Any, tuple[int, int]]) -> tuple[dict[Any, Any], dict[Any, str]]:
    heads: dict[Any, Any] = {}
    arcs: dict[Any, str] = {}
    for edge in edges:
        if not isinstance(edge, dict) or not isinstance(edge.get("label"), str):
            raise ValueError(f"an edge without a label: {edge!r}")
        source, target = edge.get("from"), edge.get("to")
        for end in (source, target):
            if not isinstance(end, int | str) or end not in spans:
                raise ValueError(f"dangling edge: no node {end!r}")
        if source == target:
            raise ValueError(f"self loop at node {source!r}")
        if target in heads:
            raise ValueError(f"two heads for node {target!r}: {heads[target]!r} and {source!r}")
        heads[target], arcs[target] = source, edge["label"]
    return heads, arcs


def _refuse_cycle(graph: Anchored) -> None:
    """Follow heads upwards; every walk ends at a root or at a node that was seen to reach one."""
    head_of = dict(zip(graph.at, graph.heads, strict=True))
    safe = {ROOT}
    for start in graph.at:
        walk: dict[int, None] = {}
        position = start
        while position not in safe:
            if position in walk:
                raise ValueError(f"cycle through node {position}")
            walk[position] = None
            position = head_of[position]
        safe.update(walk)
