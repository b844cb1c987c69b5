"""Matrices that workers fold and write: one result for any bands, blocks, losses and deaths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph.naive import random_graph

from samebits import api
from samebits.core.observing.events import Event, ShardDone, Warned
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.data import sealing
from samebits.data.artifact import open_artifact
from samebits.data.folding import kept_parts, output_file, piece_files, shape, tree
from samebits.errors import Interrupted
from samebits.executors.serial import SerialExecutor
from samebits.graph.config import GraphConfig
from samebits.graph.distance import matrix, matrix_fold
from samebits.graph.functions import ged_matrix
from samebits.testing import ShuffledExecutor

CASES: dict[str, dict[str, Any]] = {
    "mirrored": {"budget": 30},
    "against": {"budget": 30, "against": True},
    "proven": {"budget": 2, "until_exact": True},
    "proven against": {"budget": 2, "until_exact": True, "against": True},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "graphs.jsonl"
    graphs = [random_graph(41, k, nodes=3 + k % 4) for k in range(23)]
    path.write_text("".join(json.dumps(graph.to_json()) + "\n" for graph in graphs))
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many shards, nodes, bands, pieces and blocks, which end inside of numbers."""
    monkeypatch.setattr(matrix, "CELL_COST", 10_000)
    monkeypatch.setattr(matrix_fold, "BAND_BYTES", 700)
    monkeypatch.setattr(output_file, "PIECE_BYTES", 90)
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 333)
    monkeypatch.setattr(shape, "FEWEST_NODES", 9)
    monkeypatch.setattr(tree, "MOST_NODES", 3)
    monkeypatch.setattr(tree, "FILES_PER_PARTITION", 0)
    monkeypatch.setattr(tree, "MERGED_NODES", 4)


def compare(file: Path, output: Path, settings: dict[str, Any], **how: Any) -> dict[str, bytes]:
    """Run; return the bytes of every file."""
    against = {"against": (str(file),)} if settings.get("against") else {}
    config = GraphConfig(inputs=(str(file),), **settings | against)
    api.run("graph", config, output=output, **how)
    return {name: (output / name).read_bytes() for name in open_artifact(output).files}


@pytest.mark.parametrize("name", CASES)
def test_bands_blocks_and_order_of_arrival_never_reach_the_files(
    name: str, file: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = compare(file, tmp_path / "expected", CASES[name], executor=SerialExecutor())
    settings = {key: value for key, value in CASES[name].items() if key != "against"}
    found = ged_matrix(file, file if "against" in CASES[name] else None, **settings)
    for kind in ("lower", "upper", "expansions"):
        assert np.array_equal(np.load(tmp_path / "expected" / f"{kind}.npy"), getattr(found, kind))
    request.getfixturevalue("small")
    for seed in (-1, 4):
        executor = ShuffledExecutor(seed=seed)
        assert compare(file, tmp_path / str(seed), CASES[name], executor=executor) == expected
    assert matrix_fold.num_bands(matrix.PairGrid(None, None, 23, 23, True)) == 7


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_workers_elsewhere_write_the_same_files(executor: str, file: Path, tmp_path: Path) -> None:
    expected = compare(file, tmp_path / "expected", CASES["mirrored"], executor=SerialExecutor())
    options = RunOptions(executor=executor, workers="2")
    assert compare(file, tmp_path / "out", CASES["mirrored"], options=options) == expected


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["mirrored", "proven"])
def test_a_band_with_a_flipped_bit_is_made_again(name: str, file: Path, tmp_path: Path) -> None:
    expected = compare(file, tmp_path / "expected", CASES[name], executor=SerialExecutor())
    events: list[Event] = []

    class Flips(SerialExecutor):
        done = False

        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(task, output_file.WriteBlock) and not self.done:
                self.done = True
                stage = kept_parts._file_name("pairs reduce", 2)
                path = tmp_path / "out.journal" / "kept" / stage
                data = bytearray(path.read_bytes())
                data[7] ^= 4
                path.write_bytes(data)
            return super().submit(task, shard, handle)

    found = compare(file, tmp_path / "out", CASES[name], executor=Flips(), observer=events.append)
    assert found == expected
    assert any("a part was lost" in event.message for event in events if isinstance(event, Warned))
    done = [event.index for event in events if isinstance(event, ShardDone) and event.stage == "pairs reduce"]
    assert sorted(done) == sorted([*range(7), 2])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("task", [tree.MergeFiles, tree.ReducePartition, output_file.WriteBlock])
def test_a_run_that_ends_in_any_stage_goes_on_there(task: type[Any], file: Path, tmp_path: Path) -> None:
    expected = compare(file, tmp_path / "expected", CASES["proven"], executor=SerialExecutor())

    class Stops(SerialExecutor):
        def submit(self, given: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(given, task) and shard.index == 1:
                raise KeyboardInterrupt
            return super().submit(given, shard, handle)

    with pytest.raises(Interrupted):
        compare(file, tmp_path / "out", CASES["proven"], executor=Stops())
    kept = [p for p in (tmp_path / "out.journal" / "kept").iterdir() if p.name != piece_files.TOKEN]
    assert kept
    events: list[Event] = []
    found = compare(
        file, tmp_path / "out", CASES["proven"], executor=SerialExecutor(), observer=events.append
    )
    assert found == expected
    pairs = [event for event in events if isinstance(event, ShardDone) and event.stage == "pairs"]
    assert all(event.resumed for event in pairs)
