"""Stores that workers split, shuffle and write: one result for any blocks, nodes, losses and deaths, and no row in the driver."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import needs_extra
from tests.executors.elsewhere import workers_elsewhere

from samebits.api import run
from samebits.core.observing.events import Event, ShardDone, Warned
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.data import sealing
from samebits.data.artifact import open_artifact
from samebits.data.folding import growing_file, held_pieces, kept_parts, output_file, piece_files, shape, tree
from samebits.errors import Interrupted
from samebits.executors.serial import SerialExecutor
from samebits.testing import ShuffledExecutor
from samebits.tokens.config import TokensConfig
from samebits.tokens.keeping import arrange

CASES: dict[str, dict[str, Any]] = {
    "plain": {"export": ("megatron",)},
    "split": {"val_ratio": 0.2, "layout": "rows", "max_length": 32, "materialize": True},
    "shuffled": {"shuffle": True, "val_ratio": 0.2, "template": "{text}{sep}{label}{eos}"},
    "limited": {"limit": 123, "val_ratio": 0.1, "max_length": 16, "truncate": "window"},
    "no split": {"shuffle": True, "layout": "rows", "max_length": 8, "val_ratio": 1e-9},
}


def build(dirty: Path, output: Path, settings: dict[str, Any], **how: Any) -> dict[str, bytes]:
    """Build; return the bytes of every file."""
    config = TokensConfig(inputs=(str(dirty),), cell_mb=0.004, **settings)
    options = RunOptions(max_bad="100%", **how.pop("options", {}))
    run("tokens", config, output=output, options=options, **how)
    return {name: (output / name).read_bytes() for name in open_artifact(output).files}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many nodes, pieces, ranges and blocks."""
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(output_file, "PIECE_BYTES", 700)
    monkeypatch.setattr(arrange, "RANGE_BYTES", 2000)
    monkeypatch.setattr(shape, "FEWEST_NODES", 5)


@pytest.mark.parametrize("name", CASES)
def test_blocks_pieces_ranges_and_order_of_arrival_never_reach_the_files(
    name: str, dirty: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES[name], executor=SerialExecutor())
    request.getfixturevalue("small")
    for seed in (-1, 4):
        found = build(dirty, tmp_path / str(seed), CASES[name], executor=ShuffledExecutor(seed=seed))
        assert found == expected
    assert len(expected["train.source.npy"]) > 200


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_workers_elsewhere_write_the_same_files(executor: str, dirty: Path, tmp_path: Path) -> None:
    needs_extra(executor)
    expected = build(dirty, tmp_path / "expected", CASES["shuffled"], executor=SerialExecutor())
    options = {"executor": executor, "workers": "2"}
    assert build(dirty, tmp_path / "out", CASES["shuffled"], options=options) == expected


@pytest.mark.usefixtures("small")
def test_no_part_that_the_driver_takes_holds_ids(dirty: Path, tmp_path: Path) -> None:
    """A store of a hundred kilobytes, and what is told of a shard has some numbers and its bad rows."""
    sizes: list[int] = []

    class Told(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            promise = super().submit(task, shard, handle)
            done: Any = promise.result()
            sizes.append(len(str(done.part.told)) + len(done.part.data))
            return promise

    files = build(dirty, tmp_path / "out", CASES["shuffled"], executor=Told())
    assert len(files["train.bin"]) > 100_000
    assert max(sizes) < 1500


class _Meddling(SerialExecutor):
    """Does something once, before the first shard of a task."""

    def __init__(self, task: type[Any], meddle: Any) -> None:
        super().__init__()
        self.task, self.meddle = task, meddle

    def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
        if isinstance(task, self.task) and self.meddle:
            meddle, self.meddle = self.meddle, None
            meddle()
        return super().submit(task, shard, handle)


def _kept(folder: Path) -> dict[str, Path]:
    """The last file of each stage."""
    files = sorted(path for path in folder.iterdir() if path.name != piece_files.TOKEN)
    return {path.name.partition("-")[0]: path for path in files}


STAGES = {
    "encode": arrange.SplitGroup,
    "split": arrange.ScatterGroup,
    "scatter train": arrange.OrderRange,
    "order val": output_file.WriteBlock,
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("harm", ["flip", "remove"])
def test_a_kept_file_that_is_lost_or_damaged_is_made_again_and_nothing_else(
    stage: str, harm: str, dirty: Path, tmp_path: Path
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES["shuffled"], executor=SerialExecutor())
    events: list[Event] = []

    def meddle() -> None:
        path = _kept(tmp_path / "out.journal" / "kept")[kept_parts._file_name(stage, 0).partition("-")[0]]
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data) if harm == "flip" else path.unlink()

    executor = _Meddling(STAGES[stage], meddle)
    found = build(dirty, tmp_path / "out", CASES["shuffled"], executor=executor, observer=events.append)
    assert found == expected
    assert any("a part was lost" in event.message for event in events if isinstance(event, Warned))
    done = [event.index for event in events if isinstance(event, ShardDone) and event.stage == stage]
    assert len(done) == len(set(done)) + 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("case", ["shuffled", "limited"])
@pytest.mark.parametrize(
    "task", [tree.CountNode, arrange.SplitGroup, arrange.OrderRange, output_file.WriteBlock]
)
def test_a_run_that_ends_in_any_stage_goes_on_there(
    task: type[Any], case: str, dirty: Path, tmp_path: Path
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES[case], executor=SerialExecutor())

    class Stops(SerialExecutor):
        def submit(self, given: Any, shard: Shard, handle: Any) -> Any:
            # the first four shards are submitted before the first part is taken in
            if isinstance(given, task) and shard.index == (5 if task is tree.CountNode else 2):
                raise KeyboardInterrupt
            return super().submit(given, shard, handle)

    if case == "limited" and task is arrange.OrderRange:
        pytest.skip("nothing is shuffled here")
    with pytest.raises(Interrupted):
        build(dirty, tmp_path / "out", CASES[case], executor=Stops())
    events: list[Event] = []
    assert (
        build(dirty, tmp_path / "out", CASES[case], executor=SerialExecutor(), observer=events.append)
        == expected
    )
    resumed = {event.stage for event in events if isinstance(event, ShardDone) and event.resumed}
    assert "encode" in resumed


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kept_after", [0.0, 1000.0])
def test_ids_of_the_first_second_are_not_kept_for_a_resume(
    kept_after: float, dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was ended goes on with what is kept, makes the rest again, and gives the same bytes."""
    monkeypatch.setattr(held_pieces, "KEEP_SECONDS", kept_after)
    expected = build(dirty, tmp_path / "expected", CASES["plain"], executor=ShuffledExecutor(seed=3))

    class Stops(SerialExecutor):
        def submit(self, given: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(given, tree.CountNode) and shard.index == 5:
                raise KeyboardInterrupt
            return super().submit(given, shard, handle)

    with pytest.raises(Interrupted):
        build(dirty, tmp_path / "out", CASES["plain"], executor=Stops())
    events: list[Event] = []
    found = build(dirty, tmp_path / "out", CASES["plain"], executor=SerialExecutor(), observer=events.append)
    assert found == expected
    resumed = {event.stage for event in events if isinstance(event, ShardDone) and event.resumed}
    assert ("encode" in resumed) == (kept_after == 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_ids_that_keep_their_order_are_written_while_shards_are_encoded(
    executor: str, dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES["plain"], executor=ShuffledExecutor(seed=2))
    monkeypatch.setattr(growing_file, "SYNC_BYTES", 3000)
    written: list[int] = []
    seen: list[int] = []

    def watch(event: Event) -> None:
        if isinstance(event, ShardDone) and event.stage == "write":
            written.append(event.num_units)
        elif isinstance(event, ShardDone):
            seen.append((tmp_path / "out.partial" / "train.bin").stat().st_size)

    options = {"executor": executor, "workers": "3"}
    assert build(dirty, tmp_path / "out", CASES["plain"], options=options, observer=watch) == expected
    others = ("train.idx", "train.offsets.npy", "train.source.npy")
    assert sum(written) == sum(len(expected[name]) for name in others)
    if executor == "serial":  # threads may have encoded all before the first part is taken
        assert 0 < seen[-1] < len(expected["train.bin"])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("harm", ["damaged", "interrupted"])
def test_what_goes_wrong_while_ids_are_written_leaves_no_trace_in_them(
    harm: str, dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_pieces, "MOST_BYTES", 0)  # so that ids are read back
    expected = build(dirty, tmp_path / "expected", CASES["plain"], executor=ShuffledExecutor(seed=2))

    class Harms(SerialExecutor):
        left = 1

        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            promise = super().submit(task, shard, handle)
            if isinstance(task, tree.CountNode) and shard.index == 5 and self.left:
                self.left -= 1
                if harm == "interrupted":
                    raise KeyboardInterrupt
                done: Any = promise.result()
                path = tmp_path / "out.journal" / "kept" / done.part.pieces.name
                path.write_bytes(path.read_bytes()[:-1] + b"?")
            return promise

    harms, events = Harms(), list[Event]()
    if harm == "interrupted":
        with pytest.raises(Interrupted):
            build(dirty, tmp_path / "out", CASES["plain"], executor=harms)
        assert not (tmp_path / "out.partial").exists()
    found = build(dirty, tmp_path / "out", CASES["plain"], executor=harms, observer=events.append)
    assert found == expected
    assert any(isinstance(event, Warned) and "part" in event.message for event in events)


@pytest.mark.usefixtures("small")
def test_workers_that_do_not_see_the_folder_leave_writing_to_the_driver(
    dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES["shuffled"], executor=SerialExecutor())
    events: list[Event] = []
    found = build(
        dirty,
        tmp_path / "out",
        CASES["shuffled"],
        executor=workers_elsewhere(monkeypatch),
        observer=events.append,
    )
    assert found == expected
    assert {event.stage for event in events if isinstance(event, ShardDone)} == {"encode"}


@dataclass(frozen=True)
class _DiesOnce:
    """Ends its worker in the middle of the shards, once, and is the given node otherwise."""

    node: Any
    flag: str

    def count(self, shards: Sequence[Shard], state: Any, /) -> tuple[list[Any], list[Any]]:
        if shards[0].index >= 6 and not Path(self.flag).exists():
            Path(self.flag).touch()
            os._exit(1)
        found: tuple[list[Any], list[Any]] = self.node.count(shards, state)
        return found


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_killed_worker_that_keeps_rows_costs_what_it_had_in_hand(
    dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build(dirty, tmp_path / "expected", CASES["shuffled"], executor=SerialExecutor())
    run_rows, flag = tree.Folding.run_rows, tmp_path / "flag"

    def run_with_death(self: Any, stage: str, node: Any, *rest: Any, **named: Any) -> Any:
        return run_rows(self, stage, _DiesOnce(node, str(flag)), *rest, **named)

    monkeypatch.setattr(tree.Folding, "run_rows", run_with_death)
    events: list[Event] = []
    options = {"executor": "processes", "workers": "2"}
    found = build(dirty, tmp_path / "out", CASES["shuffled"], options=options, observer=events.append)
    assert flag.exists()
    assert found == expected
    lost = [event.message for event in events if isinstance(event, Warned) and "worker lost" in event.message]
    assert lost
