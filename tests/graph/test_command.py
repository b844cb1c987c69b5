"""The commands of ``samebits graph``: what they print, what they write, how they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from samebits.cli.app import run
from samebits.graph import Graph

A = Graph(labels=["C", "O"], edges=[(0, 1, "-")])
B = Graph(labels=["C", "N", "H"], edges=[(0, 1, "=")])


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, graph in (("a", A), ("b", B)):
        (tmp_path / f"{name}.json").write_text(json.dumps(graph.to_json()))
    return str(tmp_path / "a.json"), str(tmp_path / "b.json")


def test_distance_prints_bounds_and_edits(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", "distance", *files]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("distance 3, proven")
    assert run(["graph", "distance", *files, "--json", "--costs", "node_ins=0.5"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["lower"], about["upper"], about["exact"], about["mapping"]) == ("2.5", "2.5", True, [0, 1])
    assert [edit["kind"] for edit in about["edits"]] == ["relabel node", "insert node", "relabel edge"]


def test_distance_of_trees_and_of_numbered_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trees.jsonl"
    trees = [Graph(labels=labels, edges=[(0, 1)], directed=True) for labels in ("ab", "ac")]
    path.write_text("\n".join(json.dumps(tree.to_json()) for tree in trees))
    assert run(["graph", "distance", f"{path}:1", f"{path}:2", "--trees"]) == 0
    assert capsys.readouterr().out == "1\n"
    assert run(["graph", "distance", str(path), f"{path}:2"]) == 1
    assert "2 graphs, one was expected" in capsys.readouterr().err
    assert run(["graph", "distance", f"{path}:3", f"{path}:2"]) == 1
    assert "no graph 3" in capsys.readouterr().err


def test_pictures_are_written(files: tuple[str, str], tmp_path: Path) -> None:
    assert run(["graph", "distance", *files, "--draw", str(tmp_path / "edits.svg")]) == 0
    assert run(["graph", "draw", *files, "-o", str(tmp_path / "both.svg")]) == 0
    assert run(["graph", "draw", files[0], "-o", str(tmp_path / "one.svg")]) == 0
    assert (tmp_path / "edits.svg").read_bytes() == (tmp_path / "both.svg").read_bytes()
    for name in ("both.svg", "one.svg"):
        ElementTree.parse(tmp_path / name)


def test_matrix_and_knn_write_artifacts(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["graph", "matrix", *files, "-o", str(tmp_path / "m")]) == 0
    assert "1 pair, 1 exact" in capsys.readouterr().err
    assert run(["graph", "knn", files[0], "--corpus", files[1], "-k", "1", "-o", str(tmp_path / "k")]) == 0
    assert "1 query, 1 certified" in capsys.readouterr().err
    for name in ("m", "k"):
        assert run(["verify", str(tmp_path / name)]) == 0


def test_a_bad_graph_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"nodes": []}\n{"nodes": [{"id": 1}, {"id": 1}]}\n')
    assert run(["graph", "matrix", str(path), "-o", str(tmp_path / "m")]) == 1
    assert "bad.jsonl, line 2: two nodes have the id 1" in capsys.readouterr().err
