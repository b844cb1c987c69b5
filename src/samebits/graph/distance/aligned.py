"""The distance along a given alignment: nodes of the same place in a text, or of the same id, are the same node.

An upper bound of graph edit distance in linear time, and on dependency trees the familiar error count: with unit costs a
wrong head costs two (an edge goes, an edge comes) and a wrong relation one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from samebits.errors import ConfigError
from samebits.graph.data import Graph
from samebits.graph.distance.costs import Costs, Number
from samebits.graph.distance.edits import edit_script, script_cost
from samebits.graph.distance.pair import as_graph

__all__ = ["aligned_ged", "alignment"]


def alignment(a: Graph, b: Graph) -> tuple[int | None, ...]:
    """Map each node of a to the node of b with the same place in the text, else the same id, else the same number."""
    keys = _keys(a, b)
    number = {key: j for j, key in enumerate(keys[1])}
    if len(number) < len(b):
        raise ConfigError("two nodes are at one place of the text", hint="give every node a span of its own")
    mapping = tuple(number.get(key) for key in keys[0])
    if len(set(keys[0])) < len(a):
        raise ConfigError("two nodes are at one place of the text", hint="give every node a span of its own")
    return mapping


def _keys(a: Graph, b: Graph) -> tuple[list[Hashable], list[Hashable]]:
    if (a.at or not len(a)) and (b.at or not len(b)):
        return list(a.at), list(b.at)
    return [a.name_of(i) for i in range(len(a))], [b.name_of(j) for j in range(len(b))]


def aligned_ged(a: Any, b: Any, *, costs: Costs | None = None) -> Number:
    """Return the cost of the edits along the alignment; never less than the graph edit distance.

    >>> aligned_ged(Graph(labels="ab", edges=[(0, 1)]), Graph(labels="ac", edges=[(0, 1)]))
    1

    Args:
        a: A Graph or a networkx graph.
        b: The same.
        costs: What edits cost; 1 each if not given.

    Raises:
        ConfigError: if one graph is directed and the other is not, or two nodes share a place.
    """
    first, second, costs = as_graph(a), as_graph(b), costs or Costs()
    if first.directed != second.directed and len(first) and len(second):
        raise ConfigError("a directed and an undirected graph cannot be compared")
    return script_cost(edit_script(first, second, alignment(first, second), costs), costs)
