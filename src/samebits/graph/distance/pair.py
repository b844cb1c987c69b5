"""The distance of two graphs, with its proof: bounds, the mapping, the edits, and a sentence that says what is certain."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samebits.core.observing.units import show_count
from samebits.errors import ConfigError
from samebits.graph.data import Graph
from samebits.graph.distance.compare import MOST_NODES, NO_LIMIT, compare_pairs
from samebits.graph.distance.costs import Costs, Number
from samebits.graph.distance.edits import Edit, apply_edits, edit_script
from samebits.graph.distance.pack import pack
from samebits.graph.distance.until_exact import prove_pair
from samebits.graph.formats.read import read_graphs

__all__ = ["Distance", "as_graph", "as_graphs", "check_budget", "ged"]

BUDGET = 10_000


@dataclass(frozen=True, slots=True)
class Distance:
    """What is known about the distance of two graphs.

    Attributes:
        a: The first graph.
        b: The second.
        costs: What edits cost.
        budget: How many states could be looked at.
        lower: The distance is at least this.
        upper: The distance is at most this: ``edits`` cost so much.
        expansions: States that were looked at.
        mapping: For each node of a its node of b, or None where it is deleted.
    """

    a: Graph
    b: Graph
    costs: Costs
    budget: int
    lower: Number
    upper: Number
    expansions: int
    mapping: tuple[int | None, ...]

    @property
    def exact(self) -> bool:
        """Whether the distance is known: both bounds are equal."""
        return self.lower == self.upper

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that turn a into b; their costs add up to ``upper``."""
        return edit_script(self.a, self.b, self.mapping, self.costs)

    def apply(self) -> Graph:
        """Apply the edits to a and number the nodes as b does; the result has b's labels and edges."""
        made, places = apply_edits(self.a, self.edits)
        order = [self._node_of(place) for place in places]
        labels = [label for _, label in sorted(zip(order, made.labels, strict=True))] if order else []
        edges = [(order[u], order[v], label) for u, v, label in made.triples]
        return Graph(labels=labels, edges=edges, directed=self.a.directed)

    def _node_of(self, place: int | str) -> int:
        if isinstance(place, str):
            return int(place[1:])
        node = self.mapping[place]
        assert node is not None  # deleted nodes have no place any more
        return node

    def explain(self) -> str:
        """Say what is certain, and list the edits."""
        if self.exact:
            head = f"distance {self.upper}, proven ({show_count(self.expansions, 'state')} searched)"
        elif max(len(self.a), len(self.b)) > MOST_NODES:
            head = f"distance between {self.lower} and {self.upper}: above {MOST_NODES} nodes only labels are counted"
        else:
            head = f"distance between {self.lower} and {self.upper}: the budget of {self.budget:,} states was used up"
        return "\n".join([head, *(f"  {edit}" for edit in self.edits)])

    def draw(self) -> str:
        """Return the two graphs in one picture (SVG): what stays, goes, comes and changes."""
        from samebits.graph.pictures.draw import draw_edits

        return draw_edits(self.a, self.b, self.mapping)


def as_graph(value: Any) -> Graph:
    """Take a Graph as it is, a networkx graph with its attribute ``label``, the only graph of a file.

    Raises:
        ConfigError: for anything else, and for a file of several graphs.
    """
    if isinstance(value, str | os.PathLike):
        found = read_graphs(Path(value))
        if len(found) != 1:
            raise ConfigError(
                f"{os.fspath(value)} holds {len(found)} graphs, one was expected",
                hint="choose one: read_graphs(path)[0]",
            )
        return found[0]
    if isinstance(value, Graph):
        return value
    if hasattr(value, "is_multigraph") and hasattr(value, "is_directed"):
        return Graph.from_networkx(value)
    raise ConfigError(
        f"a {type(value).__name__} is not a graph", hint="make one: Graph(labels=[...], edges=[(0, 1), ...])"
    )


def as_graphs(values: Any) -> list[Graph]:
    """Take a list of whatever ``as_graph`` takes, or the path of a file or folder of graphs."""
    if isinstance(values, str | os.PathLike):
        return read_graphs(Path(values))
    return [as_graph(value) for value in values]


def check_budget(budget: int) -> None:
    """Refuse a budget that is no count."""
    if isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget < 1 << 60:
        raise ConfigError(f"the budget is {budget!r}", hint="give a number of states, 0 or more, e.g. 10000")


def ged(
    a: Any, b: Any, *, costs: Costs | None = None, budget: int = BUDGET, until_exact: bool = False
) -> Distance:
    """Return the graph edit distance of two graphs, or the tightest interval the budget proves.

    Args:
        a: A Graph, a networkx Graph or DiGraph (labels in the attribute ``label``), or the path of a file of one graph.
        b: The same.
        costs: What edits cost; 1 each if not given.
        budget: States of the search to look at; never seconds, so every machine gives the same answer. 0 gives bounds
            only. A state with more than 64 open nodes counts as (open / 64) cubed states.
        until_exact: Search until the distance is proven, whatever the budget; may take very long. Above 512 nodes there is
            no search, and the answer stays an interval.

    Raises:
        ConfigError: for a graph that cannot be compared, a directed and an undirected one, or a bad budget.
    """
    check_budget(budget)
    costs = costs or Costs()
    first, second = as_graph(a), as_graph(b)
    scaled = costs.scaled()
    packed = pack([first, second])
    if until_exact:
        found = prove_pair(packed, (0, 1), scaled, limit=NO_LIMIT, with_mappings=True)
    else:
        numbers = np.arange(2, dtype=np.int64)
        found = compare_pairs(packed, numbers[:1], numbers[1:], scaled, budget=budget, with_mappings=True)
    return Distance(
        first,
        second,
        costs,
        budget,
        scaled.value(int(found.lower[0])),
        scaled.value(int(found.upper[0])),
        int(found.expansions[0]),
        tuple(None if image < 0 else image for image in found.images[0].tolist()),
    )
