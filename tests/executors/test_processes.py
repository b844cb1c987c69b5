"""Worker processes: killed, stopped, never started, unable to speak. Each ends in the right parts or a named error."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.executors import tasks

from samebits.core.engine import Engine
from samebits.core.plan import cut
from samebits.errors import ConfigError, OutputFailed, ShardFailed, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.messages import store
from samebits.executors.processes import ProcessesExecutor

SHARDS = cut([12], 1)


@pytest.fixture
def executor() -> Iterator[ProcessesExecutor]:
    made = ProcessesExecutor(ExecutorOptions(workers=2, stall_timeout=3.0))
    yield made
    made.close(cancel=True)


@pytest.fixture(scope="module")
def healthy() -> Iterator[ProcessesExecutor]:
    """One pool for all tests that do not kill workers: starting one takes longer than using it."""
    made = ProcessesExecutor(ExecutorOptions(workers=2))
    parts(made, tasks.AddState())
    yield made
    made.close()


def parts(executor: ProcessesExecutor, task: Any, state: Any = None, **options: Any) -> list[Any]:
    return [
        part
        for _, part in Engine(executor, **options).map_ordered("s", task, SHARDS, state=state, unit="items")
    ]


def workers_of(executor: ProcessesExecutor) -> list[int]:
    return [int(path.name) for path in executor._board.folder.iterdir()]


def while_running(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_killed_worker_costs_one_retry(executor: ProcessesExecutor, tmp_path: Path) -> None:
    assert parts(executor, tasks.DiesOnce(5, str(tmp_path / "mark"))) == list(range(12))


def test_a_shard_that_always_kills_its_worker_is_named(executor: ProcessesExecutor) -> None:
    with pytest.raises(WorkerLost, match=r"shard 5 lost its worker 2 times \(SIGKILL\(-9\)\)") as caught:
        parts(executor, tasks.Dies(5), retries=1)
    assert caught.value.shard == 5


def test_a_worker_stopped_while_it_starts_costs_no_more_than_the_stall_timeout(
    executor: ProcessesExecutor,
) -> None:
    """It has no seat yet: a minute of patience for slow imports was kept for stopped ones too."""
    stopped: list[int] = []

    def stop_all() -> None:
        while len(started := list(executor._pool._processes)) < 2:
            time.sleep(0.005)
        for pid in started:
            os.kill(pid, signal.SIGSTOP)
        stopped.extend(set(started) - set(workers_of(executor)))

    thread, began = while_running(stop_all), time.monotonic()
    assert [part["index"] for part in parts(executor, tasks.AddState())] == list(range(12))
    thread.join()
    assert len(stopped) == 2, "they were at the board before they could be stopped"
    assert time.monotonic() - began < 30


def test_too_few_open_files_are_named_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool broke off half made, with a traceback, and left its folder and semaphores behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 8, hard))
    try:
        with pytest.raises(
            ConfigError, match="-x processes needs 28 more open files, and 9 are left"
        ) as caught:
            ProcessesExecutor(ExecutorOptions(workers=2))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "ulimit -n" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_cannot_be_sent_fails_its_shard(healthy: ProcessesExecutor) -> None:
    with pytest.raises(ShardFailed, match="lock") as caught:
        parts(healthy, tasks.CannotLeave())
    assert caught.value.shard == 0


def test_a_task_that_cannot_arrive_fails_its_shard(healthy: ProcessesExecutor) -> None:
    with pytest.raises(ShardFailed, match="exploded on unpickle") as caught:
        parts(healthy, tasks.CannotArrive())
    assert "explode" in caught.value.remote_traceback


def test_a_state_that_cannot_be_sent_is_refused_with_what_to_use_instead(healthy: ProcessesExecutor) -> None:
    with pytest.raises(ConfigError, match="cannot be sent to worker processes") as caught:
        parts(healthy, tasks.AddState(), threading.Lock())
    assert "threads" in caught.value.hint


def test_a_state_that_cannot_arrive_fails_its_shard(healthy: ProcessesExecutor) -> None:
    with pytest.raises(ShardFailed, match="exploded on unpickle"):
        parts(healthy, tasks.AddState(), tasks.ExplodingPart())


def test_a_task_that_kills_the_process_where_it_arrives_is_a_lost_worker(executor: ProcessesExecutor) -> None:
    with pytest.raises(WorkerLost, match="lost its worker"):
        parts(executor, tasks.KillsWhereItArrives(), retries=0)


def test_workers_that_cannot_even_start_end_in_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that breaks with no shard in hand must not be started again for ever."""
    monkeypatch.setattr("samebits.executors.processes._start_worker", tasks.leave)
    executor = ProcessesExecutor(ExecutorOptions(workers=1))
    with pytest.raises(WorkerLost, match="lost its worker"):
        parts(executor, tasks.AddState(), retries=0)
    executor.close()


def test_a_full_temporary_folder_has_a_name(healthy: ProcessesExecutor) -> None:
    (healthy._folder / f"stored-{healthy._num_stored}").symlink_to("/dev/full")
    with pytest.raises(OutputFailed, match="No space left on device") as caught:
        parts(healthy, tasks.AddState(), "state")
    assert "TMPDIR" in caught.value.hint


def test_a_state_that_does_not_fit_leaves_no_view_of_a_buffer_in_its_error() -> None:
    """The collector closes the buffer first, which its view forbids; from Python 3.13 on it says so on the screen."""
    with pytest.raises(OSError, match="No space left on device") as caught:
        store(b"state" * 10_000, Path("/dev/full"))
    held = [value for frame, _ in traceback.walk_tb(caught.tb) for value in frame.f_locals.values()]
    assert not [value for value in held if isinstance(value, memoryview)]


def test_a_stopped_worker_is_noticed_and_its_shard_named() -> None:
    executor = ProcessesExecutor(ExecutorOptions(workers=1, stall_timeout=2.0))
    with pytest.raises(WorkerLost, match=r"shard 3 lost its worker 1 times \(no sign of life for 2 s\)"):
        parts(executor, tasks.Dies(3, signal.SIGSTOP), retries=0)
    executor.close(cancel=True)


def test_stopped_idle_workers_are_replaced(executor: ProcessesExecutor) -> None:
    """They matter too: one of them holds the lock of the queue that all the others wait for."""
    parts(executor, tasks.AddState())
    for pid in workers_of(executor):
        os.kill(pid, signal.SIGSTOP)
    assert [part["index"] for part in parts(executor, tasks.AddState())] == list(range(12))


def test_all_workers_killed_at_once_cost_a_retry_each(executor: ProcessesExecutor) -> None:
    parts(executor, tasks.AddState())

    def kill_all() -> None:
        time.sleep(0.2)
        for pid in workers_of(executor):
            os.kill(pid, signal.SIGKILL)

    thread = while_running(kill_all)
    assert len({part["pid"] for part in parts(executor, tasks.Environment())}) >= 2
    thread.join()


def test_closing_does_not_wait_for_a_stopped_worker() -> None:
    # stall_timeout 60: longer than this test may take
    executor = ProcessesExecutor(ExecutorOptions(workers=2))
    parts(executor, tasks.AddState())
    pids = workers_of(executor)
    os.kill(pids[0], signal.SIGSTOP)
    started = time.monotonic()
    executor.close()
    assert time.monotonic() - started < 30
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_a_worker_killed_before_closing_does_not_hold_up_the_close() -> None:
    """A worker that dies while it waits holds the lock of the queue for ever, and the others wait for it."""
    executor = ProcessesExecutor(ExecutorOptions(workers=3))
    parts(executor, tasks.Environment())
    pids = workers_of(executor)
    for pid in pids[:2]:
        os.kill(pid, signal.SIGKILL)
    executor.close()
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_workers_ignore_ctrl_c_and_use_one_math_thread(healthy: ProcessesExecutor) -> None:
    seen = parts(healthy, tasks.Environment())
    assert {part["omp"] for part in seen} == {"1"}
    assert {part["interrupts"] for part in seen} == {True}
    assert os.getpid() not in {part["pid"] for part in seen}


def test_pinned_workers_share_no_core_while_there_are_enough() -> None:
    cores = sorted(os.sched_getaffinity(0))
    workers = min(2, len(cores))
    executor = ProcessesExecutor(ExecutorOptions(workers=workers, pin_cores=True))
    try:
        seen = {part["pid"]: part["cores"] for part in parts(executor, tasks.Environment())}
    finally:
        executor.close()
    assert sorted(seen.values()) == [[core] for core in cores[: len(seen)]]


def test_more_pinned_workers_than_cores_take_turns() -> None:
    cores = sorted(os.sched_getaffinity(0))
    executor = ProcessesExecutor(ExecutorOptions(workers=len(cores) + 1, pin_cores=True))
    try:
        seen = {part["pid"]: part["cores"] for part in parts(executor, tasks.Environment())}
    finally:
        executor.close()
    assert {len(pinned) for pinned in seen.values()} == {1}


def test_a_driver_that_is_interrupted_leaves_no_worker_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    executor = ProcessesExecutor(ExecutorOptions(workers=2))
    stage = Engine(executor).map_ordered("s", tasks.Environment(), SHARDS, unit="items")
    _, part = next(stage)
    del stage  # what a run does when the fold raises
    executor.close(cancel=True)
    assert not psutil.pid_exists(part["pid"])
    assert list(tmp_path.iterdir()) == []
