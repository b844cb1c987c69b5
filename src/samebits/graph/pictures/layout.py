"""Where nodes go in a picture: over their text on a line, trees in layers, everything else on a circle."""

from __future__ import annotations

import math
from typing import NamedTuple

from samebits.graph.data import Graph

__all__ = ["Placement", "Point", "place_nodes"]

Point = tuple[float, float]
STEP = 72.0  # pixels between neighbours
MOST_DRAWN_RADIUS = 4000.0


class Placement(NamedTuple):
    """Places of all nodes from (0, 0), the room they need, and whether edges are to be arcs over a line."""

    points: list[Point]
    width: float
    height: float
    on_a_line: bool


def place_nodes(graph: Graph) -> Placement:
    """Choose by what the graph is."""
    if graph.at:
        points, height = _line(graph)
    else:
        points = _layers(graph) or _circle(len(graph))
        height = max((y for _, y in points), default=0.0)
    return Placement(points, max((x for x, _ in points), default=0.0), height, bool(graph.at))


def _line(graph: Graph) -> tuple[list[Point], float]:
    """Place nodes in text order, with room above and below for the widest arc."""
    order = sorted(range(len(graph)), key=lambda i: (graph.at[i], i))
    rank = {node: k for k, node in enumerate(order)}
    widest = max((abs(rank[u] - rank[v]) for u, v, _ in graph.triples), default=0) * STEP / 2 * 0.75
    return [(rank[i] * STEP, widest) for i in range(len(graph))], 2 * widest


def _layers(graph: Graph) -> list[Point] | None:
    """Place a directed forest by depth, every leaf in a column of its own; None if it is no forest."""
    if not graph.directed or not len(graph):
        return None
    children: list[list[int]] = [[] for _ in graph.labels]
    parents = [0] * len(graph)
    for u, v, _ in graph.triples:
        children[u].append(v)
        parents[v] += 1
    roots = [i for i, count in enumerate(parents) if count == 0]
    if any(count > 1 for count in parents):
        return None
    points: dict[int, Point] = {}
    column = 0
    stack = [(root, 0, False) for root in reversed(roots)]
    while stack:
        node, depth, done = stack.pop()
        if not children[node]:
            points[node] = (column * STEP, depth * STEP)
            column += 1
        elif done:
            below = [points[k][0] for k in children[node]]
            points[node] = ((below[0] + below[-1]) / 2, depth * STEP)
        else:
            stack.append((node, depth, True))
            stack += [(k, depth + 1, False) for k in reversed(children[node])]
    if len(points) < len(graph):  # a cycle has no root and was never reached
        return None
    return [points[i] for i in range(len(graph))]


def _circle(size: int) -> list[Point]:
    if size < 2:
        return [(0.0, 0.0)] * size
    radius = min(max(STEP, STEP * size / (2 * math.pi)), MOST_DRAWN_RADIUS)
    turns = [2 * math.pi * k / size for k in range(size)]
    return [(radius + radius * math.sin(turn), radius - radius * math.cos(turn)) for turn in turns]
