"""Inputs are hashed by the workers, with the digests of one pass, and a file that changes meanwhile is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import needs_extra

from samebits import api
from samebits.core.engine import Engine
from samebits.core.observing.events import Event, ShardDone, StageDone, StageStarted
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.count.config import CountConfig
from samebits.data.inputs import hashing
from samebits.data.inputs.blocks import EARLY, EARLY_BYTES, READ_BYTES, begin_hashing
from samebits.data.inputs.corpus import open_corpus
from samebits.data.inputs.reading import reading_by
from samebits.errors import InputError, Interrupted, PlanMismatch
from samebits.executors.serial import SerialExecutor
from samebits.machine import early_start
from samebits.testing import ShuffledExecutor

LINE = b"to be or not to be, that is the question\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files, the first of three spans; its last and the small files share a task."""
    monkeypatch.setattr(hashing, "TASK_BYTES", READ_BYTES)
    monkeypatch.setattr(hashing, "FEWEST_BYTES", 1)
    found = tmp_path / "inputs"
    found.mkdir()
    (found / "a.txt").write_bytes(LINE * (2 * READ_BYTES // len(LINE) + 9))
    (found / "b.csv").write_bytes(b'text\n"one\ntwo"\nthree\n')
    (found / "c.txt").write_bytes(b"")
    return found


def _refuse(*_: Any) -> None:
    raise AssertionError("the driver reads an input, or sends a small one away")


def test_an_engine_gives_the_digests_and_states_of_the_threads(folder: Path) -> None:
    expected = open_corpus([str(folder)])
    for seed in range(3):
        engine = Engine(ShuffledExecutor(seed=seed))
        with reading_by(1, lambda files, num_shards, found=engine: found):
            assert open_corpus([str(folder)]) == expected


def test_files_are_told_with_their_sizes_and_about_how_many_shards(folder: Path) -> None:
    asked: list[Any] = []

    def find(files: Any, num_shards: int) -> None:
        asked.append((files, num_shards))

    with reading_by(1, find):
        open_corpus([str(folder)], cell_bytes=1 << 20)
    files = [(str(path), path.stat().st_size) for path in sorted(folder.iterdir())]
    assert asked == [(files, 6)]  # five cells of the first file, one of the second, none of the empty one


def test_the_engine_tells_when_all_is_hashed(folder: Path) -> None:
    events: list[Event] = []
    engine = Engine(SerialExecutor(), observer=events.append)
    with reading_by(1, lambda files, num_shards: engine):
        open_corpus([str(folder)])
    assert isinstance(events[-1], StageDone)


def test_little_input_is_not_sent_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "FEWEST_BYTES", 1 << 30)

    with reading_by(1, _refuse):
        assert len(open_corpus([str(folder)]).sources) == 3


def test_small_files_share_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "FEWEST_BYTES", 1)
    for number in range(50):
        (tmp_path / f"{number:02}.txt").write_bytes(LINE)
    events: list[Event] = []
    engine = Engine(SerialExecutor(), observer=events.append)
    with reading_by(1, lambda files, num_shards: engine):
        corpus = open_corpus([str(tmp_path)])
    assert len(corpus.sources) == 50
    assert [event.num_shards for event in events if isinstance(event, StageStarted)] == [1]


@pytest.mark.parametrize("name", ["processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_workers_elsewhere_hash_and_the_driver_reads_nothing(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_extra(name)
    config = CountConfig(inputs=(str(folder),), column="text")
    expected = api.run("count", config, output=tmp_path / "serial", options=RunOptions(executor="serial"))
    monkeypatch.setattr(hashing, "read_each", _refuse)
    events: list[Event] = []
    options = RunOptions(executor=name, workers="2")
    record = api.run("count", config, output=tmp_path / "out", options=options, observer=events.append)
    assert record.artifact_digest == expected.artifact_digest
    assert record.plan_digest == expected.plan_digest
    hashed = [event for event in events if isinstance(event, ShardDone) and event.stage == "hash"]
    assert len(hashed) == record.stages["hash"]["shards_done"] == 3


class _Meddling(SerialExecutor):
    """Does something once, before the first shard of the stage ``hash`` or of any later one."""

    name = "processes"  # so that hashing goes through it too

    def __init__(self, meddle: Callable[[], object], *, before_hashing: bool) -> None:
        super().__init__()
        self.meddle: Callable[[], object] | None = meddle
        self.before_hashing = before_hashing

    def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
        if self.meddle and isinstance(task, hashing.HashSpans) is self.before_hashing:
            self.meddle()
            self.meddle = None
        return super().submit(task, shard, handle)


def test_an_input_that_changes_between_hashing_and_reading_is_refused_with_its_place(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "a.txt"
    changed = path.read_bytes().replace(b"not", b"NOT")
    meddling = _Meddling(lambda: path.write_bytes(changed), before_hashing=False)
    with pytest.raises(InputError, match="changed after the run was planned") as caught:
        api.run("count", CountConfig(inputs=(str(path),)), output=tmp_path / "out", executor=meddling)
    assert (caught.value.path, caught.value.offset) == (str(path), 0)
    assert not (tmp_path / "out").exists()


def test_an_input_that_becomes_shorter_while_it_is_hashed_is_refused(folder: Path, tmp_path: Path) -> None:
    path = folder / "a.txt"
    meddling = _Meddling(lambda: path.write_bytes(LINE), before_hashing=True)
    with pytest.raises(InputError, match="became shorter while it was read") as caught:
        api.run("count", CountConfig(inputs=(str(path),)), output=tmp_path / "out", executor=meddling)
    assert caught.value.path == str(path)


def test_a_resume_with_a_changed_input_is_refused_by_its_digest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samebits.core.engine.WINDOW_PER_WORKER", 1)  # two parts are kept before the third
    path = folder / "a.txt"
    path.write_bytes(LINE * 500_000)  # three shards
    config, output = CountConfig(inputs=(str(path),)), tmp_path / "out"

    class Stops(SerialExecutor):
        name = "processes"

        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            if not isinstance(task, hashing.HashSpans) and shard.index == 2:
                raise KeyboardInterrupt
            return super().submit(task, shard, handle)

    with pytest.raises(Interrupted):
        api.run("count", config, output=output, executor=Stops())
    path.write_bytes(path.read_bytes()[:-2] + b"x\n")
    with pytest.raises(PlanMismatch, match="first difference: input_digest"):
        api.run("count", config, output=output, executor=Stops())


def test_what_was_hashed_early_is_taken_unless_the_size_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * (EARLY_BYTES + 5))
    expected = open_corpus([path]).sources[0].blocks
    begin_hashing(str(path))
    early_start.look(EARLY + str(path))
    path.write_bytes(b"y" * (EARLY_BYTES + 5))  # whoever reads it finds out
    assert open_corpus([path]).sources[0].blocks == expected
    changed = open_corpus([path]).sources[0].blocks  # taken once
    assert changed != expected
    begin_hashing(str(path))
    early_start.look(EARLY + str(path))
    path.write_bytes(b"z")
    assert open_corpus([path]).sources[0].size == 1
