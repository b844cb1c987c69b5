"""Pictures: valid XML, every edit shown by sign and colour, the same bytes each time, nothing from a label gets out."""

from __future__ import annotations

import hashlib
from xml.etree import ElementTree

import pytest
from tests.graph.naive import random_graph

from samebits.graph import Graph, draw_graph, ged
from samebits.graph.pictures.draw import COLOURS

A = Graph(labels=["C", "O", "N"], edges=[(0, 1, "-"), (1, 2, "=")])
B = Graph(labels=["C", "S", "F", "F"], edges=[(0, 1, "-"), (0, 2), (2, 3)])


def texts(picture: str) -> list[str]:
    return [
        node.text or "" for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_edits_are_marked_by_sign_colour_and_dash() -> None:
    picture = ged(A, B).draw()
    words = texts(picture)
    assert "C" in words
    assert any(word.startswith("~O→") for word in words)
    assert any(word.startswith("+") for word in words)
    assert all(colour in picture for colour in COLOURS.values())
    assert "stroke-dasharray" in picture


@pytest.mark.parametrize("directed", [False, True])
def test_every_layout_is_valid_xml_and_the_same_bytes_each_time(directed: bool) -> None:
    for k in range(12):
        a = random_graph(61, k, nodes=k, directed=directed, loops=0.2)
        b = random_graph(67, k, nodes=11 - k, directed=directed, loops=0.2)
        picture = ged(a, b).draw()
        ElementTree.fromstring(picture)
        assert picture == ged(a, b).draw()
        ElementTree.fromstring(draw_graph(a))


def test_labels_are_escaped_and_long_ones_shortened() -> None:
    nasty = Graph(labels=["<script>alert('&')</script>", "a\x00b\ud800", "x" * 100])
    words = texts(draw_graph(nasty))
    assert words[0] == ""  # the tooltip comes first, the text after it
    assert "<script>" not in draw_graph(nasty)
    assert "a\ufffdb\ufffd" in draw_graph(nasty)
    assert "x" * 24 not in words[-1]


def test_a_graph_over_a_text_has_arcs_above_and_new_ones_below() -> None:
    a = Graph(labels="123", edges=[(0, 1), (1, 2)], directed=True, at=[(0, 1), (2, 3), (4, 5)])
    b = Graph(labels="123", edges=[(0, 1), (0, 2)], directed=True, at=[(0, 1), (2, 3), (4, 5)])
    picture = ged(a, b).draw()
    assert picture.count("C") >= 3  # curves
    ElementTree.fromstring(picture)


def test_a_picture_has_pinned_bytes() -> None:
    tree = Graph(labels=["+", "2", "3"], edges=[(0, 1, "L"), (0, 2, "R")], directed=True)
    digest = hashlib.sha256(draw_graph(tree).encode()).hexdigest()
    assert digest == "2bc2bf24cce244040a492efa5f56d31800caf8e1a993e4d80201d7a1cd5e35ac"
