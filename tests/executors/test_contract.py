"""One contract for every executor of the table, and for the shuffled one: same parts, same errors, nothing left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import needs_extra
from tests.executors import tasks

from samebits.core.engine import Engine
from samebits.core.observing.events import Event, ShardDone, Warned
from samebits.core.plan import cut
from samebits.core.ports.executor import Executor
from samebits.errors import ConfigError, InputError, SamebitsError, ShardFailed, WorkerLost
from samebits.executors import EXECUTORS, ExecutorOptions, make_executor
from samebits.testing import ShuffledExecutor

SHARDS = cut([12], 1)


@pytest.fixture(scope="module", params=[*EXECUTORS, "shuffled"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """One executor for all tests of this module: whatever a test does to it, the next finds it working."""
    needs_extra(request.param)
    if request.param == "shuffled":
        made: Executor = ShuffledExecutor(seed=3, workers=2)
    else:
        made = make_executor(request.param, ExecutorOptions(workers=2))
    parts(made, tasks.AddState())  # workers start now, so that no test is blamed for leaving them
    yield made
    made.close()


def parts(executor: Executor, task: Any, state: Any = None, **options: Any) -> list[Any]:
    return [
        part
        for _, part in Engine(executor, **options).map_ordered("s", task, SHARDS, state=state, unit="items")
    ]


def test_parts_and_state_arrive_unchanged(executor: Executor) -> None:
    state = {"table": [1, 2.5, "ü"], "none": None}
    assert parts(executor, tasks.AddState(), state) == [
        {"index": i, "start": i, "state": state} for i in range(12)
    ]


def test_a_second_stage_sees_its_own_state(executor: Executor) -> None:
    assert [part["state"] for part in parts(executor, tasks.AddState(), "first")] == ["first"] * 12
    assert [part["state"] for part in parts(executor, tasks.AddState(), "second")] == ["second"] * 12


def test_large_parts_arrive_whole(executor: Executor) -> None:
    for index, part in enumerate(parts(executor, tasks.BigPart(300_000))):
        assert np.array_equal(part, np.full(300_000, index, dtype=np.uint8))


def test_large_tasks_arrive_whole(executor: Executor) -> None:
    assert parts(executor, tasks.BigTask(b"x" * 1_000_000)) == [1_000_000 + i for i in range(12)]


def test_digests_are_those_of_the_serial_executor(executor: Executor) -> None:
    def digests(place: Executor) -> dict[int, str]:
        found: dict[int, str] = {}

        def note(event: Event) -> None:
            if isinstance(event, ShardDone):
                found[event.index] = event.digest

        parts(place, tasks.BigPart(5000), observer=note)
        return found

    assert digests(executor) == digests(make_executor("serial", ExecutorOptions()))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", "ZeroDivisionError: planted"),
        ("bad text", "BadText"),
        ("unpicklable error", "Unpicklable: holds a lock"),
        ("system exit", "SystemExit: 5"),
        ("unpicklable part", "part is a _thread.lock, but a part must be plain data"),
        ("exploding part", "but a part must be plain data"),
        ("long traceback", "ValueError: xxx"),
    ],
)
def test_a_misbehaving_task_fails_its_shard_and_shows_the_traceback(
    executor: Executor, how: str, words: str
) -> None:
    with pytest.raises(ShardFailed) as caught:
        parts(executor, tasks.Misbehaves(how))
    assert caught.value.shard == 2
    assert words in caught.value.message
    assert "tasks.py" in caught.value.remote_traceback or "codec.py" in caught.value.remote_traceback


def test_an_error_of_our_own_keeps_its_class_and_values(executor: Executor) -> None:
    with pytest.raises(InputError, match=r"a\.txt, byte 7: planted") as caught:
        parts(executor, tasks.Misbehaves("samebits error"))
    assert caught.value.offset == 7


def test_an_error_that_explodes_on_unpickle_still_fails_its_shard(executor: Executor) -> None:
    with pytest.raises(SamebitsError, match="boom"):
        parts(executor, tasks.Misbehaves("exploding error"))


def test_memory_that_runs_out_is_tried_again_before_it_is_an_error(
    executor: Executor, tmp_path: Path
) -> None:
    warnings: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Warned):
            warnings.append(event.message)

    assert parts(executor, tasks.HungryOnce(str(tmp_path), times=2), observer=note) == list(range(12))
    assert [w for w in warnings if "memory" in w] == warnings
    assert len(warnings) == 2


def test_memory_that_always_runs_out_is_a_lost_worker(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match="shard 2 lost its worker") as caught:
        parts(executor, tasks.HungryOnce(str(tmp_path), times=1000), retries=1)
    assert "memory" in caught.value.reason
    assert "-w 1" in caught.value.hint


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_worker_that_dies_among_shards_that_travel_together_loses_the_one_in_its_hand(
    name: str, tmp_path: Path
) -> None:
    needs_extra(name)
    said: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Warned):
            said.append(event.message)

    made = make_executor(name, ExecutorOptions(workers=2))
    try:
        task = tasks.DiesOnce(60, str(tmp_path / "mark"))
        found = Engine(made, observer=note).map_ordered("s", task, cut([100], 1), unit="items", kept=True)
        assert [part for _, part in found] == list(range(100))
    finally:
        made.close()
    blamed = [message for message in said if "in hand" in message]
    assert len(blamed) == 1
    assert "shard 60" in blamed[0]


def test_an_executor_is_usable_after_all_that(executor: Executor) -> None:
    assert parts(executor, tasks.AddState(), 1) == [{"index": i, "start": i, "state": 1} for i in range(12)]


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'threads'"):
        make_executor("thread", ExecutorOptions())


@pytest.mark.parametrize("name", sorted(EXECUTORS))
def test_closing_leaves_no_temporary_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_extra(name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    executor = make_executor(name, ExecutorOptions(workers=1))
    assert parts(executor, tasks.BigPart(100_000))[0].size == 100_000
    executor.close()
    executor.close(cancel=True)  # closing twice is harmless
    assert list(tmp_path.iterdir()) == []
