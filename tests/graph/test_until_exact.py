"""Until exact: pairs that a budget leaves open are proven, in slices that change nothing, on any number of workers, after any kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.graph.naive import random_graph

from samebits import graph
from samebits.api import run
from samebits.cli.app import run as command
from samebits.core.options import RunOptions
from samebits.graph import Costs, Graph, GraphConfig, KnnConfig, ged
from samebits.graph.distance import until_exact
from samebits.graph.distance.compare import compare_pairs, no_places
from samebits.graph.distance.pack import pack
from samebits.verification import artifacts

MANY = 10**9
COSTS = [Costs(), Costs(5, 1, 2, 4, 1, 1), Costs("0.5", "1.25", 1, "0.1", 1, "0.75")]
DIE = """
import os, signal, sys
from samebits.api import run
from samebits.core.observing.events import ShardDone
from samebits.core.options import RunOptions
from samebits.graph.config import GraphConfig
from samebits.graph.distance import until_exact
until_exact.UNITS = (1_000, 2_000)
until_exact.LEAST_STATES = 10
seen = []
def die(event):
    if isinstance(event, ShardDone) and event.stage == "open pairs":
        seen.append(event.index)
        if len(seen) == 30:
            os.kill(os.getpid(), signal.SIGKILL)
config = GraphConfig(inputs=(sys.argv[1],), budget=3, until_exact=True)
run("graph", config, output=sys.argv[2], options=RunOptions(workers="2"), observer=die)
"""


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of a few states, so that one pair takes many rounds."""
    monkeypatch.setattr(until_exact, "UNITS", (1_000, 2_000))
    monkeypatch.setattr(until_exact, "LEAST_STATES", 10)


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return [random_graph(61, k, nodes=7 + k % 4, extra=0.4) for k in range(10)]


@pytest.fixture
def file(tmp_path: Path, graphs: list[Graph]) -> Path:
    path = tmp_path / "graphs.jsonl"
    path.write_text("".join(json.dumps(item.to_json()) + "\n" for item in graphs))
    return path


@pytest.mark.parametrize("costs", COSTS, ids=str)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_search_in_slices_looks_at_the_states_of_one_without_and_ends_alike(
    directed: bool, costs: Costs
) -> None:
    items = [random_graph(67, k, nodes=7 + k % 4, directed=directed, extra=0.6, loops=0.1) for k in range(8)]
    packed, scaled = pack(items), costs.scaled()
    first, second = (side.astype(np.int64) for side in np.triu_indices(8, 1))
    whole = compare_pairs(packed, first, second, scaled, budget=MANY, with_mappings=True)
    assert whole.expansions.max() > 50
    for at, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        one, other = np.array(pair[:1]), np.array(pair[1:])
        size = (1, 7, 50)[at % 3]
        places, lower, slices = no_places(packed, 1), 0, 0
        while slices == 0 or places[0, 0]:
            found = compare_pairs(packed, one, other, scaled, budget=size, places=places, with_mappings=True)
            assert lower <= found.lower[0] <= whole.upper[at] <= found.upper[0]  # what was proven stays so
            places, lower, slices = found.places, found.lower[0], slices + 1
        assert slices >= whole.expansions[at] // size
        assert (found.lower[0], found.upper[0]) == (whole.lower[at], whole.upper[at])
        assert found.expansions[0] == whole.expansions[at]
        assert found.images[0].tolist() == whole.images[at].tolist()


def test_the_place_of_another_pair_is_refused() -> None:
    items = [random_graph(71, k, nodes=8, extra=0.5) for k in range(2)]
    packed, scaled, zero = pack(items), Costs().scaled(), np.zeros(1, np.int64)
    found = compare_pairs(packed, zero, zero + 1, scaled, budget=5, places=no_places(packed, 1))
    assert found.places[0, 0] > 0
    for at, value in ((0, 100), (3, 1000), (3, -1), (3 + 8, 99), (3 + 8, -1)):
        wrong = found.places.copy()
        wrong[0, at] = value
        with pytest.raises(ValueError, match="the place of another pair"):
            compare_pairs(packed, zero, zero + 1, scaled, budget=5, places=wrong)
    with pytest.raises(ValueError, match="places of 4 numbers"):
        compare_pairs(packed, zero, zero + 1, scaled, budget=5, places=np.zeros((1, 4), np.int64))


@pytest.mark.usefixtures("small_slices")
def test_every_pair_of_a_matrix_is_proven_as_with_a_budget_without_end(graphs: list[Graph]) -> None:
    whole = graph.ged_matrix(graphs, budget=MANY, workers=1)
    assert not graph.ged_matrix(graphs, budget=3, workers=1).exact.all()
    for workers in (1, 2):
        found = graph.ged_matrix(graphs, budget=3, until_exact=True, workers=workers)
        assert found.upper.tolist() == found.lower.tolist() == whole.upper.tolist()
        assert found.expansions.tolist() == whole.expansions.tolist()
    two = graph.ged_matrix(graphs[:3], graphs[3:], budget=0, until_exact=True, workers=2)
    assert two.upper.tolist() == two.lower.tolist() == whole.upper[:3, 3:].tolist()
    near = graph.ged_matrix(graphs, budget=3, threshold=6, until_exact=True, workers=1)
    assert (near.exact | (near.lower > 6)).all()


@pytest.mark.usefixtures("small_slices")
def test_any_number_of_workers_and_executor_gives_the_same_bits(file: Path, tmp_path: Path) -> None:
    config = GraphConfig(inputs=(str(file),), budget=3, until_exact=True)
    digests = set()
    for number, options in enumerate(
        (RunOptions(executor="serial"), RunOptions(workers="1"), RunOptions(workers="3", recheck=5))
    ):
        record = run("graph", config, output=tmp_path / str(number), options=options)
        digests.add(record.artifact_digest)
        assert record.metrics["exact"] == record.metrics["pairs"] == 45
        assert (record.metrics["open"], record.metrics["rounds"] > 3) == (0, True)
    assert len(digests) == 1


@pytest.mark.slow
def test_processes_give_the_same_bits(file: Path, tmp_path: Path) -> None:
    config = GraphConfig(inputs=(str(file),), budget=3, until_exact=True)
    run("graph", config, output=tmp_path / "a", options=RunOptions(executor="processes", workers="2"))
    run("graph", config, output=tmp_path / "b", options=RunOptions(executor="serial"))
    artifacts.compare(tmp_path / "a", tmp_path / "b")


@pytest.mark.usefixtures("small_slices")
def test_a_run_that_was_killed_between_rounds_goes_on_and_gives_the_same_bits(
    file: Path, tmp_path: Path
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", DIE, str(file), str(tmp_path / "out")], env=dict(os.environ), check=False
    )
    assert killed.returncode == -signal.SIGKILL
    config = GraphConfig(inputs=(str(file),), budget=3, until_exact=True)
    record = run("graph", config, output=tmp_path / "out", options=RunOptions(workers="1"))
    assert record.stages["open pairs"]["shards_resumed"] >= 29
    whole = run("graph", config, output=tmp_path / "whole", options=RunOptions(executor="serial"))
    assert record.artifact_digest == whole.artifact_digest


def test_the_setting_changes_no_digest_where_it_is_not_used(file: Path, tmp_path: Path) -> None:
    record = run("graph", GraphConfig(inputs=(str(file),)), output=tmp_path / "a")
    assert "until_exact" not in artifacts.verify(tmp_path / "a").config
    assert "rounds" not in record.metrics


def large_ring() -> Graph:
    return Graph(labels=["C", "N"] * 300, edges=[(i, (i + 1) % 600) for i in range(600)])


def test_pairs_too_large_to_search_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [random_graph(73, 0, nodes=5), random_graph(73, 1, nodes=6), large_ring()]
    path = tmp_path / "g.jsonl"
    path.write_text("".join(json.dumps(item.to_json()) + "\n" for item in items))
    arguments = ["graph", "matrix", str(path), "--until-exact", "-o", str(tmp_path / "m")]
    assert command(arguments) == 0
    assert "2 pairs stay open: graphs of more than 512 nodes" in capsys.readouterr().err


def test_one_pair_is_proven_by_call_and_command(
    graphs: list[Graph], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ged(graphs[2], graphs[3], budget=MANY)
    found = ged(graphs[2], graphs[3], budget=0, until_exact=True)
    assert not ged(graphs[2], graphs[3], budget=0).exact
    assert (found.exact, found.upper, found.mapping) == (True, whole.upper, whole.mapping)
    assert command(["graph", "distance", f"{file}:3", f"{file}:4", "--budget", "0", "--until-exact"]) == 0
    assert capsys.readouterr().out.startswith(f"distance {whole.upper}, proven")
    large = ged(large_ring(), graphs[0], until_exact=True)
    assert large.lower < large.upper


def test_nearest_graphs_are_certified_whatever_the_budget(graphs: list[Graph], tmp_path: Path) -> None:
    queries, corpus = graphs[:3], graphs[3:]
    assert not graph.knn(queries, corpus, k=2, budget=0, workers=1).certified.all()
    found = graph.knn(queries, corpus, k=2, budget=0, until_exact=True, workers=2)
    exact = graph.ged_matrix(queries, corpus, budget=MANY, workers=1).upper
    assert found.certified.all()
    for row in range(3):
        order = np.argsort(exact[row], kind="stable").tolist()
        assert found.index[row].tolist() == order[:2]
        assert found.upper[row].tolist() == [exact[row, i] for i in order[:2]]
        assert found.upper[row, -1] <= found.rest_lower[row] <= exact[row, order[2]]
    assert graph.knn(queries, corpus, k=len(corpus), workers=1).rest_lower.tolist() == [-1] * 3
    path = tmp_path / "g.jsonl"
    path.write_text("".join(json.dumps(item.to_json()) + "\n" for item in graphs))
    config = KnnConfig(inputs=(str(path),), corpus=(str(path),), k=2, budget=0, until_exact=True)
    records = [
        run("graph_knn", config, output=tmp_path / workers, options=RunOptions(workers=workers))
        for workers in ("1", "3")
    ]
    assert records[0].artifact_digest == records[1].artifact_digest
    assert records[0].metrics["certified"] == 10
