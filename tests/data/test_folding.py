"""Folds on workers: one result for any order, any loss and any place, and the driver sees sizes and digests alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import needs_extra
from tests.data.folds import SumFold
from tests.executors.elsewhere import workers_elsewhere

from samebits import api
from samebits.core.engine import Engine
from samebits.core.observing.events import Event, ShardDone, Warned
from samebits.core.options import RunOptions
from samebits.core.plan import Shard, ShardTable, cut
from samebits.core.ports.executor import Executor
from samebits.count import fold as count_fold
from samebits.count import job as count_job
from samebits.count.config import CountConfig
from samebits.data.folding import piece_files, shape, tree
from samebits.data.folding.piece_files import PieceFolder, PieceLost
from samebits.errors import Interrupted
from samebits.executors import ExecutorOptions, make_executor
from samebits.executors.serial import SerialExecutor
from samebits.testing import FailingExecutor, ShuffledExecutor
from samebits.verification.artifacts import rerun

NUMBERS = 1000
SHARDS = cut([NUMBERS], cell=7)  # 143
PARTITIONS = 5
EXPECTED = [sum(range(p, NUMBERS, PARTITIONS)) for p in range(PARTITIONS)]


def run_sums(
    engine: Engine, fold: SumFold | None = None, shards: ShardTable = SHARDS
) -> tuple[Any, list[int]]:
    taken: list[int] = []

    def take(shard: Shard, told: Any) -> None:
        assert told == [shard.index, "state"]
        taken.append(shard.index)

    with tree.folding(engine, "token") as workers:
        sums = workers.run(
            "sum",
            fold or SumFold(PARTITIONS),
            shards,
            take,
            partitions=PARTITIONS,
            state="state",
            unit="numbers",
            then=lambda found: [(told, workers.folder.read(index, 0)) for told, index in found],
        )
    assert all([told] == piece for told, piece in sums)
    return [told for told, _ in sums], taken


@pytest.fixture(params=["flat", "tree"])
def tree_or_flat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "tree":
        monkeypatch.setattr(tree, "MOST_NODES", 3)
        monkeypatch.setattr(tree, "FILES_PER_PARTITION", 0)
        monkeypatch.setattr(tree, "MERGED_NODES", 4)
        monkeypatch.setattr(shape, "FEWEST_NODES", 40)


@pytest.mark.usefixtures("tree_or_flat")
@pytest.mark.parametrize(
    "executor",
    [
        SerialExecutor(),
        *(ShuffledExecutor(seed=seed) for seed in (-1, 0, 1)),
        FailingExecutor({0: 1, 3: 2}),
    ],
    ids=lambda executor: executor.name,
)
def test_any_order_and_any_loss_give_one_result_and_shards_are_told_of_in_order(
    executor: Executor, tmp_path: Path
) -> None:
    for parts in (None, tmp_path / "kept"):
        sums, taken = run_sums(Engine(executor, parts=parts))
        assert sums == EXPECTED
        assert taken == list(range(len(SHARDS)))


def test_a_tree_has_the_stages_its_number_of_shards_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_NODES", 3)
    monkeypatch.setattr(tree, "FILES_PER_PARTITION", 0)
    monkeypatch.setattr(tree, "MERGED_NODES", 4)
    events: list[Event] = []
    run_sums(Engine(SerialExecutor(), observer=events.append))
    done = [event.stage for event in events if isinstance(event, ShardDone)]
    stages = {stage: done.count(stage) for stage in dict.fromkeys(done)}
    # 143 shards, two a node
    assert stages == {
        "sum": 72,
        "sum merge 1": 18,
        "sum merge 2": 5,
        "sum merge 3": 3,
        "sum reduce": PARTITIONS,
    }


def test_no_shards_give_empty_partitions() -> None:
    assert run_sums(Engine(SerialExecutor()), shards=cut([], cell=7)) == ([0] * PARTITIONS, [])


class _Meddling(SerialExecutor):
    """Does something once, before the first shard of a task."""

    def __init__(self, task: type[Any], meddle: Any) -> None:
        super().__init__()
        self.task, self.meddle = task, meddle

    def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
        if isinstance(task, self.task) and self.meddle:
            self.meddle()
            self.meddle = None
        return super().submit(task, shard, handle)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != piece_files.TOKEN)


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [_damage, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_file_that_is_lost_or_damaged_is_made_again_and_nothing_else(harm: Any, tmp_path: Path) -> None:
    kept, events = tmp_path / "kept", list[Event]()
    executor = _Meddling(tree.ReducePartition, lambda: harm(_files(kept)[3]))
    sums, taken = run_sums(Engine(executor, parts=kept, observer=events.append))
    assert sums == EXPECTED
    assert taken == list(range(len(SHARDS)))
    counted = [event.index for event in events if isinstance(event, ShardDone) and event.stage == "sum"]
    assert len(counted) == 72 + 1
    assert any("a part was lost" in event.message for event in events if isinstance(event, Warned))


def test_a_file_that_is_lost_again_and_again_ends_the_run(tmp_path: Path) -> None:
    class Losing(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(task, tree.ReducePartition):
                _damage(_files(tmp_path / "kept")[0])
            return super().submit(task, shard, handle)

    with pytest.raises(PieceLost):
        run_sums(Engine(Losing(), parts=tmp_path / "kept"))


def test_workers_that_do_not_see_the_folder_send_their_pieces_and_the_driver_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    sums, taken = run_sums(
        Engine(workers_elsewhere(monkeypatch), parts=tmp_path / "kept", observer=events.append)
    )
    assert sums == EXPECTED
    assert taken == list(range(len(SHARDS)))
    assert {event.stage for event in events if isinstance(event, ShardDone)} == {"sum"}


def test_a_folder_of_another_run_is_not_taken_for_this_one(tmp_path: Path) -> None:
    ours = PieceFolder.make(tmp_path, "ours")
    index, data = ours.write("a", [[1], None, [2]])
    assert data == b""
    theirs = PieceFolder(str(tmp_path), "theirs")
    with pytest.raises(PieceLost) as caught:
        theirs.read(index, 0)
    assert caught.value.unseen
    assert theirs.write("b", [[1]])[1] != b""
    assert [ours.read(index, partition) for partition in range(3)] == [[1], None, [2]]


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
@pytest.mark.parametrize("die_in", [("count", 70), ("reduce", 2)], ids=["holder", "reducer"])
def test_a_killed_worker_costs_what_it_had_in_hand(
    name: str, die_in: tuple[str, int], tmp_path: Path
) -> None:
    """The one that dies while it counts holds parts of many nodes; they are files, and stay."""
    needs_extra(name)
    (tmp_path / "pids").mkdir()
    fold = SumFold(PARTITIONS, die_in, str(tmp_path / "flag"), str(tmp_path / "pids"))
    executor = make_executor(name, ExecutorOptions(workers=2))
    try:
        sums, taken = run_sums(Engine(executor, parts=tmp_path / "kept"), fold)
    finally:
        executor.close()
    assert (tmp_path / "flag").exists()
    assert sums == EXPECTED
    assert taken == list(range(len(SHARDS)))


TEXT = b"".join(b"word%d and word%d\n" % (n * n % 977, n % 13) for n in range(3000))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize("partitions", [2, 3, 8, 64])
@pytest.mark.parametrize("settings", [{}, {"min_count": 3, "top": 7}, {"table": "parquet"}])
def test_any_number_of_partitions_and_ranges_gives_one_table(
    partitions: int, settings: dict[str, Any], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CountConfig(inputs=(str(text),), **settings)
    one = api.run("count", config, output=tmp_path / "one")
    monkeypatch.setattr(count_job, "num_partitions", lambda num_bytes: partitions)
    monkeypatch.setattr(count_fold, "BLOCK_ENTRIES", 10)
    many = api.run("count", config, output=tmp_path / "many")
    assert many.artifact_digest == one.artifact_digest
    assert many.metrics == one.metrics
    assert many.stages["count reduce"]["shards_done"] == partitions
    assert many.stages["count write"]["shards_done"] > 1


def test_cuts_find_their_place_in_ranked_entries() -> None:
    keys = [b"a", b"c", b"b", b"bb", b"d"]
    offsets = np.cumsum([0, *map(len, keys)])
    entries = count_fold.Entries(np.frombuffer(b"".join(keys), np.uint8), offsets, np.array([9, 9, 4, 4, 1]))
    ranked = [entries.cut_at(number) for number in range(5)]
    assert ranked == sorted(ranked)
    assert [entries.find(cut) for cut in ranked] == list(range(5))
    assert [entries.find(cut) for cut in [(-10, b"z"), (-9, b"b"), (-4, b"bbb"), (-3, b""), (0, b"")]] == [
        0,
        1,
        4,
        4,
        5,
    ]


@pytest.mark.parametrize("stage", [tree.ReducePartition, count_fold.WriteRange])
def test_a_run_that_ends_in_the_middle_of_the_fold_goes_on_there(
    stage: type[Any], text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_job, "num_partitions", lambda num_bytes: 8)
    monkeypatch.setattr(count_fold, "BLOCK_ENTRIES", 10)
    config = CountConfig(inputs=(str(text),))
    expected = api.run("count", config, output=tmp_path / "expected")

    class Stops(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(task, stage) and shard.index == 6:
                raise KeyboardInterrupt
            return super().submit(task, shard, handle)

    output = tmp_path / "out"
    with pytest.raises(Interrupted):
        api.run("count", config, output=output, executor=Stops())
    kept = tmp_path / "out.journal" / "kept"
    _damage(_files(kept)[0])
    record = api.run("count", config, output=output, options=RunOptions(executor="threads", workers="2"))
    assert record.artifact_digest == expected.artifact_digest
    assert sum(stage["shards_resumed"] for stage in record.stages.values()) >= 1
    assert not kept.exists()


def test_nodes_of_several_shards_are_verified_like_shards(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for number in range(130):  # two shards a node
        (inputs / f"{number:03}.txt").write_bytes(b"word%d\n" % number)
    record = api.run("count", CountConfig(inputs=(str(inputs),)), output=tmp_path / "out")
    assert record.stages["count"]["shards_done"] == 65
    assert rerun(tmp_path / "out", num_shards=70) == 65
