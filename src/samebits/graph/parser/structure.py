"""What all training graphs have in common, so that a prediction can be held to it.

Three things are learned by counting, never assumed: that every graph is one tree; that no arcs cross (it is projective);
and how many children a node of each label has by each arc label. If every ``+`` has exactly one ``L`` and one ``R``, a
predicted ``+`` has too. A model that is 98 % sure of every single arc is rarely right about thirty of them at once; the
best graph that fits the structure usually is (see docs/guides/graph.md for the figures).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from samebits.graph.anchored import ROOT, Anchored

__all__ = ["Decoder", "Structure", "is_projective", "learn_structure"]

Decoder = Literal["argmax", "tree", "slots"]
MOST_SLOTS = 4  # the chart has a state for every subset of a node's slots


@dataclass(frozen=True, slots=True)
class Structure:
    """What holds for every training graph.

    Attributes:
        decoder: The strictest decoder whose graphs include all of them.
        needs: Node label -> arc labels of which it has exactly one child each.
        may: Node label -> arc labels of which it has any number of children.
    """

    decoder: Decoder
    needs: dict[str, list[str]] = field(default_factory=dict)
    may: dict[str, list[str]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def is_projective(graph: Anchored) -> bool:
    """Tell whether the nodes below every node are consecutive, which is to say that no arcs cross."""
    place = {position: i for i, position in enumerate(graph.at)}
    n = len(graph.at)
    heads = [place.get(head, ROOT) for head in graph.heads]
    low, high, size = list(range(n)), list(range(n)), [1] * n
    left = [0] * n
    for head in heads:
        if head != ROOT:
            left[head] += 1
    ready = [i for i in range(n) if not left[i]]
    while ready:
        i = ready.pop()
        if high[i] - low[i] + 1 != size[i]:
            return False
        head = heads[i]
        if head != ROOT:
            low[head], high[head] = min(low[head], low[i]), max(high[head], high[i])
            size[head] += size[i]
            left[head] -= 1
            if not left[head]:
                ready.append(head)
    return True


def learn_structure(graphs: Iterable[Anchored]) -> Structure:
    """Count children by label over all graphs."""
    nodes: Counter[str] = Counter()
    once: Counter[tuple[str, str]] = Counter()
    more: set[tuple[str, str]] = set()
    tree = projective = True
    for graph in graphs:
        tree = tree and graph.heads.count(ROOT) == 1
        projective = projective and tree and is_projective(graph)
        nodes.update(graph.labels)
        label_at = dict(zip(graph.at, graph.labels, strict=True))
        children = Counter(
            (head, arc) for head, arc in zip(graph.heads, graph.arcs, strict=True) if head != ROOT
        )
        for (head, arc), number in children.items():
            if number == 1:
                once[label_at[head], arc] += 1
            else:
                more.add((label_at[head], arc))
    if not tree:
        return Structure("argmax")
    needs: dict[str, list[str]] = {}
    may: dict[str, list[str]] = {}
    for label, arc in sorted({*once, *more}):
        exactly_one = (label, arc) not in more and once[label, arc] == nodes[label]
        (needs if exactly_one else may).setdefault(label, []).append(arc)
    fits = projective and bool(needs) and all(len(slots) <= MOST_SLOTS for slots in needs.values())
    return Structure("slots", needs, may) if fits else Structure("tree")
