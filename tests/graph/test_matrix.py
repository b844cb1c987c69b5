"""Matrices and neighbours: equal to comparing one by one, and the same bits however the work is spread."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph.naive import edited, random_graph, random_tree

from samebits import graph
from samebits.api import plan, run
from samebits.core.options import RunOptions
from samebits.errors import ConfigError, InputError
from samebits.graph import Costs, Graph, GraphConfig, KnnConfig, ged
from samebits.graph.distance import matrix
from samebits.testing import ShuffledExecutor
from samebits.verification import artifacts

DIE = """
import os, signal, sys
from samebits.api import run
from samebits.core.observing.events import ShardDone
from samebits.core.options import RunOptions
from samebits.graph.distance import matrix
matrix.CELL_COST = 60_000
seen = []
def die(event):
    if isinstance(event, ShardDone):
        seen.append(event.index)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
from samebits.graph.config import GraphConfig
config = GraphConfig(inputs=(sys.argv[1],), budget=50)
run("graph", config, output=sys.argv[2], options=RunOptions(workers="2"), observer=die)
"""


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of a few pairs."""
    monkeypatch.setattr(matrix, "CELL_COST", 60_000)


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return [random_graph(41, k, nodes=5 + k % 5) for k in range(18)]


@pytest.fixture
def file(tmp_path: Path, graphs: list[Graph]) -> Path:
    path = tmp_path / "graphs.jsonl"
    path.write_text("".join(json.dumps(item.to_json()) + "\n" for item in graphs))
    return path


@pytest.mark.usefixtures("small_cells")
def test_a_matrix_holds_what_single_comparisons_give(graphs: list[Graph]) -> None:
    found = graph.ged_matrix(graphs, budget=20, workers=2)
    for i, a in enumerate(graphs):
        for j, b in enumerate(graphs[i + 1 :], start=i + 1):
            one = ged(a, b, budget=20)
            cell = (found.lower[i, j], found.upper[i, j], found.expansions[i, j])
            assert cell == (one.lower, one.upper, one.expansions)
            assert (found.lower[j, i], found.upper[j, i]) == cell[:2]
    two = graph.ged_matrix(graphs[:3], graphs[3:], budget=20, workers=1)
    assert two.upper.tolist() == found.upper[:3, 3:].tolist()


@pytest.mark.usefixtures("small_cells")
def test_every_pair_is_in_one_shard(graphs: list[Graph]) -> None:
    for against in (None, graphs[:4], []):
        grid = matrix.make_grid(graphs, against)
        shards = matrix.cut_pairs(grid, 1000)
        assert [s.start for s in shards] == [0, *(s.stop for s in shards)][: len(shards)]
        total = len(graphs) * (len(graphs) - 1) // 2 if against is None else len(graphs) * len(against)
        assert sum(s.stop - s.start for s in shards) == total
        assert against == [] or len(shards) > 5
        for shard in shards:
            rows, columns = grid.pairs(shard.start, shard.stop)
            assert (columns < grid.columns).all()
            assert against is not None or (rows < columns).all()


@pytest.mark.usefixtures("small_cells")
def test_any_number_of_workers_gives_the_same_bits(file: Path, tmp_path: Path, graphs: list[Graph]) -> None:
    config = GraphConfig(inputs=(str(file),), budget=50)
    serial = run("graph", config, output=tmp_path / "serial", options=RunOptions(executor="serial"))
    assert len(plan("graph", config).shards) > 7
    for workers in ("1", "2", "3", "7"):
        options = RunOptions(workers=workers, recheck=3)
        record = run("graph", config, output=tmp_path / workers, options=options)
        assert record.artifact_digest == serial.artifact_digest
    shuffled = ShuffledExecutor(seed=5, workers=4)
    record = run("graph", config, output=tmp_path / "shuffled", executor=shuffled)
    shuffled.close()
    assert record.artifact_digest == serial.artifact_digest
    artifact = artifacts.verify(tmp_path / "serial")
    direct = graph.ged_matrix(graphs, budget=50, workers=1)
    assert artifact.array("lower.npy").tolist() == direct.lower.tolist()
    assert artifact.array("upper.npy").tolist() == direct.upper.tolist()
    assert artifact.array("expansions.npy").tolist() == direct.expansions.tolist()
    assert artifact.json("summary.json")["pairs"] == 153


@pytest.mark.slow
def test_processes_give_the_same_bits(file: Path, tmp_path: Path) -> None:
    config = GraphConfig(inputs=(str(file),), budget=50)
    run("graph", config, output=tmp_path / "a", options=RunOptions(executor="processes", workers="2"))
    run("graph", config, output=tmp_path / "b", options=RunOptions(executor="serial"))
    artifacts.compare(tmp_path / "a", tmp_path / "b")


@pytest.mark.usefixtures("small_cells")
def test_a_killed_run_goes_on_and_gives_the_same_bits(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", DIE, str(file), str(tmp_path / "out")]
    killed = subprocess.run(command, env=dict(os.environ), check=False)
    assert killed.returncode == -signal.SIGKILL
    config = GraphConfig(inputs=(str(file),), budget=50)
    record = run("graph", config, output=tmp_path / "out", options=RunOptions(workers="3"))
    assert record.stages["pairs"]["shards_resumed"] >= 3
    run("graph", config, output=tmp_path / "whole", options=RunOptions(executor="serial"))
    artifacts.compare(tmp_path / "whole", tmp_path / "out")


def test_costs_threshold_and_trees_reach_the_matrix(file: Path, tmp_path: Path, graphs: list[Graph]) -> None:
    config = GraphConfig(inputs=(str(file),), against=(str(file),), costs=("node_sub=0.5",), threshold="3.5")
    run("graph", config, output=tmp_path / "out", options=RunOptions(workers="1"))
    artifact = artifacts.verify(tmp_path / "out")
    lower, upper = artifact.array("lower.npy"), artifact.array("upper.npy")
    assert artifact.json("summary.json")["scale"] == 10
    exact = graph.ged_matrix(graphs, costs=Costs(node_sub="0.5"), budget=10**6, workers=1)
    near = exact.upper <= 35
    assert (upper[near] == exact.upper[near]).all()
    assert (lower[~near] > 35).all()
    trees = [random_tree(7, k, nodes=6) for k in range(4)]
    grid = matrix.make_grid(trees, None, trees=True)
    task = matrix.MatrixShard(Costs().scaled(), 0, 1 << 60)
    found = matrix.fold_matrix(grid, ((shard, task(shard, grid)) for shard in matrix.cut_pairs(grid, 0)))
    assert found["upper"][0, 3] == graph.ted(trees[0], trees[3])


def test_bad_settings_and_files_are_named(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--budget is -1"):
        GraphConfig(budget=-1)
    with pytest.raises(ConfigError, match="node_sbu"):
        GraphConfig(costs=("node_sbu=1",))
    with pytest.raises(ConfigError, match="--threshold is 'far'"):
        GraphConfig(threshold="far")
    with pytest.raises(ConfigError, match="no graphs were given"):
        plan("graph", GraphConfig())
    with file.open("a") as more:
        more.write('{"nodes": [{"id": 1}], "edges": [{"from": 1, "to": 9}]}\n')
    with pytest.raises(InputError, match=r"line 19: edge 0 leads to node 9"):
        plan("graph", GraphConfig(inputs=(str(file),)))
    with pytest.raises(ConfigError, match="workers is 'two'"):
        graph.ged_matrix([Graph(labels="a")] * 2, workers="two")


def by_hand(query: Graph, corpus: list[Graph], k: int) -> tuple[list[int], list[int]]:
    exact = [int(ged(query, other, budget=10**6).upper) for other in corpus]
    order = sorted(range(len(corpus)), key=lambda i: (exact[i], i))[:k]
    return order, [exact[i] for i in order]


def test_the_nearest_graphs_are_those_of_comparing_all(graphs: list[Graph]) -> None:
    corpus = [*graphs, *(edited(graphs[k % 18], 43, k, edits=k % 4) for k in range(60))]
    queries = [edited(graphs[k], 47, k, edits=2) for k in range(6)]
    found = graph.knn(queries, corpus, k=5, budget=10**6, workers=2)
    index, distance, certified = found
    for row, query in enumerate(queries):
        assert (index[row].tolist(), distance[row].tolist()) == by_hand(query, corpus, 5)
    assert certified.all()
    assert (found.compared < len(corpus)).any()  # the filter did its work


def test_an_answer_without_proof_says_so() -> None:
    corpus = [random_graph(53, k, nodes=14) for k in range(12)]
    found = graph.knn([random_graph(59, nodes=14)], corpus, k=3, budget=0, workers=1)
    assert not found.certified.any()
    assert (found.lower < found.upper).any()


def test_the_job_of_neighbours_gives_the_same_bits_for_all_workers(file: Path, tmp_path: Path) -> None:
    config = KnnConfig(inputs=(str(file),), corpus=(str(file),), k=2)
    records = [
        run("graph_knn", config, output=tmp_path / workers, options=RunOptions(workers=workers))
        for workers in ("1", "2", "7")
    ]
    assert len({record.artifact_digest for record in records}) == 1
    artifact = artifacts.verify(tmp_path / "2")
    numbers: np.ndarray[Any, Any] = artifact.array("neighbours.npy")
    assert numbers[:, 0].tolist() == list(range(18))  # every graph is its own nearest
    assert artifact.array("upper.npy")[:, 0].tolist() == [0] * 18
    rows = [json.loads(line) for line in artifact.path("neighbours.jsonl").read_text().splitlines()]
    assert rows[0]["query"] == rows[0]["neighbours"][0] == "graphs.jsonl:1"
    with pytest.raises(ConfigError, match="k is 19, but the corpus has 18"):
        plan("graph_knn", KnnConfig(inputs=(str(file),), corpus=(str(file),), k=19))
    with pytest.raises(ConfigError, match="no corpus was given"):
        plan("graph_knn", KnnConfig(inputs=(str(file),)))
