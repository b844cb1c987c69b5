"""Graphs that stand for no value say why."""

from __future__ import annotations

import pytest

from samebits.graph.anchored import ROOT, Anchored
from samebits.graph.curriculum.bits import Bits
from samebits.graph.curriculum.checker import Malformed, Result, bind_edges, check
from samebits.graph.curriculum.render import render
from samebits.graph.curriculum.terms import STYLES, Term, number, variable


def graph(*rows: tuple[int, str, int, str]) -> Anchored:
    at, labels, heads, arcs = zip(*rows, strict=True)
    return Anchored(at, labels, heads, arcs)


PLUS = (1, "+", ROOT, "root")


def test_a_sum_has_its_value() -> None:
    assert check("2+3", graph((0, "int", 1, "L"), PLUS, (2, "int", 1, "R"))) == Result("rational", "5")


@pytest.mark.parametrize(
    ("text", "found", "reason"),
    [
        ("2+3", graph((0, "int", 1, "L"), PLUS, (2, "int", 1, "L")), "instead of"),
        ("2+3", graph((0, "int", 1, "L"), PLUS), "instead of"),
        ("2+3", graph((0, "int", ROOT, "root"), PLUS, (2, "int", 1, "R")), "2 roots"),
        ("2+3", graph((0, "int", 1, "L"), (1, "+", 0, "L")), "0 roots"),
        ("2+3", graph((0, "int", 2, "L"), PLUS, (2, "int", 0, "R")), "hang from no root"),
        ("2/0", graph((0, "int", 1, "L"), (1, "/", ROOT, "root"), (2, "int", 1, "R")), "division by zero"),
        ("a+3", graph((0, "int", 1, "L"), PLUS, (2, "int", 1, "R")), "no number"),
        ("a+3", graph((0, "var", 1, "L"), PLUS, (2, "int", 1, "R")), "no value"),
        ("2+3", graph((0, "int", 1, "L"), (1, "?", ROOT, "root"), (2, "int", 1, "R")), "no operator"),
        ("2=3", graph((0, "int", 1, "L"), (1, "=", ROOT, "root"), (2, "int", 1, "R")), "nobody solves"),
        (
            "21+3",
            graph((0, "int", 2, "L"), (2, "+", ROOT, "root"), (3, "int", 2, "R"), (1, "cont", 3, "cont")),
            "follow",
        ),
        ("2+3", graph((0, "cont", 1, "L"), PLUS, (2, "int", 1, "R")), "digit without"),
    ],
)
def test_what_has_no_value_says_why(text: str, found: Anchored, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        check(text, found)


def test_an_empty_graph_has_no_root() -> None:
    with pytest.raises(Malformed, match="0 roots"):
        check("", Anchored((), (), (), ()))


def test_names_are_bound_by_name_and_each_once() -> None:
    term = Term("*", (variable("x"), Term("+", (variable("x"), number(12)))))
    for style in STYLES:
        made = render(term, style, Bits(1, style), bindings=(("x", 30),))
        assert check(made.text, made.graph) == Result("rational", "1260")
        uses = bind_edges(made.text, made.graph)
        assert [made.text[use] for use, _ in uses] == ["x", "x"]
        assert len({definition for _, definition in uses}) == 1


def test_depth_is_no_limit() -> None:
    """2,000 nested operators: nothing recurses over a graph."""
    n = 2000
    rows = [(i, "abs", i - 1 if i else ROOT, "L" if i else "root") for i in range(n)]
    found = graph(*rows, (n, "int", n - 1, "L"))
    assert check("a" * n + "7", found) == Result("rational", "7")
