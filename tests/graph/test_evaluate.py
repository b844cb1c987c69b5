"""Judging: the identity mapping, attachment, values, and certified bounds that lie below the aligned cost."""

from __future__ import annotations

import pytest

from samebits.core.seeds import rng_for
from samebits.graph.anchored import ROOT, Anchored
from samebits.graph.curriculum.checker import Result
from samebits.graph.curriculum.levels import DEPTHS, draw_example
from samebits.graph.evaluation.evaluate import as_graph, certified
from samebits.graph.evaluation.measure import aligned_cost, judge, result_of, summarize, table_by

SUM = Anchored((0, 1, 2), ("int", "+", "int"), (1, ROOT, 1), ("L", "root", "R"))
SWAPPED = Anchored((0, 1, 2), ("int", "+", "int"), (1, ROOT, 1), ("R", "root", "L"))
RESULT = {"kind": "rational", "value": "5"}


def test_equal_graphs_are_exact_and_have_no_distance() -> None:
    found = judge("2+3", SUM, SUM, RESULT, is_math=True)
    assert (found.exact, found.aligned, found.heads, found.arcs, found.executed) == (True, 0, 3, 3, True)


def test_a_graph_may_be_wrong_and_have_the_right_value() -> None:
    found = judge("2+3", SWAPPED, SUM, RESULT, is_math=True)
    assert (found.exact, found.aligned, found.heads, found.arcs, found.executed) == (False, 2, 3, 1, True)
    assert certified(SWAPPED, SUM, 1000) == (0.0, 0.0)  # without the text, it is the same graph


def test_nothing_predicted_costs_everything() -> None:
    nothing = Anchored((), (), (), ())
    found = judge("2+3", nothing, SUM, RESULT, is_math=True)
    assert (found.aligned, found.heads, found.executed, found.well_formed) == (6, 0, False, False)
    assert result_of("2+3", nothing) == "0 roots instead of one"
    assert result_of("2+3", SUM) == Result("rational", "5")


def test_values_have_no_meaning_for_other_graphs() -> None:
    found = judge(("a", "b", "c"), SUM, SUM, None, is_math=False)
    assert (found.executed, found.well_formed) == (None, None)
    assert summarize([found])["execution"] is None


def damaged(graph: Anchored, seed: int) -> Anchored:
    """Change some labels, heads and arcs; heads may lead anywhere but to the node itself."""
    rng = rng_for(seed, "damage")
    labels, heads, arcs = list(graph.labels), list(graph.heads), list(graph.arcs)
    for _ in range(int(rng.integers(1, 4))):
        i = int(rng.integers(len(labels)))
        kind = int(rng.integers(3))
        if kind == 0:
            labels[i] = "?"
        elif kind == 1:
            heads[i] = int(rng.choice([p for p in graph.at if p != graph.at[i]]))
            arcs[i] = "L"
        else:
            arcs[i] = "?" if heads[i] != ROOT else arcs[i]
    return Anchored(graph.at, tuple(labels), tuple(heads), tuple(arcs))


@pytest.mark.parametrize("seed", range(30))
def test_bounds_are_in_order_and_below_the_aligned_cost(seed: int) -> None:
    graph = draw_example(seed, 2, seed, DEPTHS[2]).rendered.graph
    other = damaged(graph, seed)
    lower, upper = certified(other, graph, 50)
    assert 0 <= lower <= upper <= aligned_cost(other, graph)
    assert len(as_graph(other)) == len(graph.at)


def test_tables_are_sorted_and_leave_out_what_has_no_key() -> None:
    good = judge("2+3", SUM, SUM, RESULT, is_math=True)
    bad = judge("2+3", SWAPPED, SUM, RESULT, is_math=True)
    rows = table_by([3, 2, None, 2], [good, bad, good, good])
    assert [(row["key"], row["examples"], row["exact_match"]) for row in rows] == [(2, 2, 0.5), (3, 1, 1.0)]
