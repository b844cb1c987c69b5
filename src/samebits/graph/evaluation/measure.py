"""How far a predicted graph is from the expected one: exact match, attachment, aligned edit distance, value.

The aligned distance is the cost of the mapping that leaves every node at its position, with unit costs: O(n), never below
the true distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from samebits.graph.anchored import ROOT, Anchored
from samebits.graph.curriculum.checker import Malformed, Result, check
from samebits.graph.evaluation.ud_scores import universal

__all__ = ["Judgement", "aligned_cost", "judge", "result_of", "summarize", "table_by"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One prediction beside what was expected; counts are of nodes expected.

    Attributes:
        exact: The graphs are equal.
        aligned: Cost of leaving every node where it is.
        lower: The edit distance is at least this.
        upper: And at most this.
        nodes: Expected nodes.
        heads: Of them, found with the right head.
        arcs: Of them, found with the right head and arc label; of sentences without the subtype, as the CoNLL 2018 task counts.
        subtypes: The same with the subtype.
        executed: The graph has the expected value; None where values have no meaning.
        well_formed: The graph has a value; None where values have no meaning.
        tags: Of the words of a sentence, how many have the right part of speech, tag and features.
    """

    exact: bool
    aligned: int
    lower: float
    upper: float
    nodes: int
    heads: int
    arcs: int
    subtypes: int
    executed: bool | None
    well_formed: bool | None
    tags: tuple[int, ...] = ()


def _arcs(graph: Anchored) -> dict[tuple[int, int], str]:
    """Return (head, node) -> label of every arc whose head is there; the root always is."""
    there = {ROOT, *graph.at}
    return {
        (head, position): arc
        for position, head, arc in zip(graph.at, graph.heads, graph.arcs, strict=True)
        if head in there
    }


def aligned_cost(predicted: Anchored, expected: Anchored) -> int:
    """Return the cost of the identity mapping: nodes and arcs to delete, insert and relabel, one each.

    >>> tree = Anchored((0, 1), ("+", "int"), (ROOT, 0), ("root", "L"))
    >>> aligned_cost(tree, Anchored((0, 1), ("+", "int"), (ROOT, ROOT), ("root", "root")))
    2
    """
    ours = dict(zip(predicted.at, predicted.labels, strict=True))
    theirs = dict(zip(expected.at, expected.labels, strict=True))
    cost = sum(1 for position in ours.keys() | theirs.keys() if ours.get(position) != theirs.get(position))
    a, b = _arcs(predicted), _arcs(expected)
    return cost + sum(1 for arc in a.keys() | b.keys() if a.get(arc) != b.get(arc))


def result_of(text: str, graph: Anchored) -> Result | str:
    """Return the value of a math graph, or why it has none."""
    try:
        return check(text, graph)
    except Malformed as reason:
        return str(reason)


def judge(
    tokens: Sequence[str],
    predicted: Anchored,
    expected: Anchored,
    result: Any,
    *,
    is_math: bool,
    is_sentence: bool = False,
) -> Judgement:
    """Compare one prediction with what was expected; bounds of the true distance are filled in by the caller.

    Args:
        tokens: The positions.
        predicted: The model's graph.
        expected: The right one.
        result: ``{"kind": ..., "value": ...}`` of the example, or None.
        is_math: Whether graphs of this model have values.
        is_sentence: Whether they are trees over words, whose relations have subtypes.
    """
    aligned = aligned_cost(predicted, expected)
    head_of = dict(zip(predicted.at, zip(predicted.heads, predicted.arcs, strict=True), strict=True))
    rows = list(zip(expected.at, expected.heads, expected.arcs, strict=True))
    heads = sum(1 for position, head, _ in rows if position in head_of and head_of[position][0] == head)
    subtypes = sum(1 for position, head, arc in rows if head_of.get(position) == (head, arc))
    arcs = subtypes
    if is_sentence:
        short = {position: (head, universal(arc)) for position, (head, arc) in head_of.items()}
        arcs = sum(1 for position, head, arc in rows if short.get(position) == (head, universal(arc)))
    executed = well_formed = None
    if is_math and isinstance(result, dict):
        value = result_of("".join(tokens), predicted)
        well_formed = isinstance(value, Result)
        executed = isinstance(value, Result) and (value.kind, value.value) == (
            result.get("kind"),
            result.get("value"),
        )
    return Judgement(
        predicted == expected,
        aligned,
        0.0,
        float(aligned),
        len(rows),
        heads,
        arcs,
        subtypes,
        executed,
        well_formed,
    )


def summarize(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the measures over some examples; shares are of examples, attachment scores of nodes."""
    n, nodes = len(judgements), sum(j.nodes for j in judgements)
    judged = [j for j in judgements if j.executed is not None]

    def share(number: float, of: int) -> float | None:
        return number / of if of else None

    return {
        "examples": n,
        "exact_match": share(sum(j.exact for j in judgements), n),
        "uas": share(sum(j.heads for j in judgements), nodes),
        "las": share(sum(j.arcs for j in judgements), nodes),
        "las_subtypes": share(sum(j.subtypes for j in judgements), nodes),
        **_tags(judgements, nodes),
        "aligned_ged": share(sum(j.aligned for j in judgements), n),
        "ged_lower": share(sum(j.lower for j in judgements), n),
        "ged_upper": share(sum(j.upper for j in judgements), n),
        "ged_certified": share(sum(j.lower == j.upper for j in judgements), n),
        "well_formed": share(sum(bool(j.well_formed) for j in judged), len(judged)),
        "execution": share(sum(bool(j.executed) for j in judged), len(judged)),
    }


def _tags(judgements: Sequence[Judgement], nodes: int) -> dict[str, Any]:
    tagged = [j.tags for j in judgements if j.tags]
    names = ("upos", "xpos", "feats")
    return {
        name: sum(row[task] for row in tagged) / nodes if tagged and nodes else None
        for task, name in enumerate(names)
    }


def table_by(keys: Sequence[Any], judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Return the measures for each value of a key, sorted; examples without the key are left out."""
    groups: dict[Any, list[Judgement]] = {}
    for key, judgement in zip(keys, judgements, strict=True):
        if key is not None:
            groups.setdefault(key, []).append(judgement)
    return [{"key": key, **summarize(groups[key])} for key in sorted(groups)]
