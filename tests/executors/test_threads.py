"""Threads: the caller's is one of the workers, unless shards take long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from samebits.core.engine import Engine
from samebits.core.plan import Shard, cut
from samebits.core.ports.executor import Done
from samebits.executors import ExecutorOptions, threads
from samebits.executors.threads import ThreadsExecutor

SHARDS = cut([40], 1)
SECONDS = 20  # to wait for what would not come


@dataclass(frozen=True)
class Calling:
    """A task that calls a function of this test."""

    function: Callable[[Shard], Any]

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        return self.function(shard)


@pytest.fixture
def two() -> Iterator[ThreadsExecutor]:
    executor = ThreadsExecutor(ExecutorOptions(workers=2))
    yield executor
    executor.close()


def names_of(executor: ThreadsExecutor, function: Callable[[Shard], Any]) -> list[str]:
    """Run all shards and return the names of the threads that computed them."""
    names: list[str] = []

    def noted(shard: Shard) -> int:
        function(shard)
        names.append(threading.current_thread().name)
        return shard.index

    parts = list(Engine(executor).map_ordered("s", Calling(noted), SHARDS, unit="items"))
    assert [part for _, part in parts] == list(range(40))
    return names


def test_two_workers_are_two_threads_with_the_callers(two: ThreadsExecutor) -> None:
    both = threading.Barrier(2, timeout=SECONDS)  # passed by two threads at a time, never by one alone
    names = names_of(two, lambda _: both.wait())
    assert sorted(names) == sorted([threading.current_thread().name, "samebits_0"] * 20)


def test_one_worker_leaves_the_callers_thread_alone() -> None:
    executor = ThreadsExecutor(ExecutorOptions(workers=1))
    assert set(names_of(executor, lambda _: None)) == {"samebits_0"}
    assert not executor.compute_one()
    executor.close()


def test_after_a_long_shard_all_workers_are_other_threads(
    two: ThreadsExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LONG_SECONDS", 0.0)
    both = threading.Barrier(2, timeout=SECONDS)
    names = names_of(two, lambda _: both.wait())
    assert names.count(threading.current_thread().name) == 1
    assert set(names) == {threading.current_thread().name, "samebits_0", "samebits_1"}


def test_an_interrupt_in_the_callers_shard_ends_the_stage_and_drops_what_waits() -> None:
    executor, started = ThreadsExecutor(ExecutorOptions(workers=2)), []
    interrupted = threading.Event()

    def interrupt(shard: Shard) -> None:
        started.append(shard.index)
        if threading.current_thread() is threading.main_thread():
            interrupted.set()
            raise KeyboardInterrupt
        assert interrupted.wait(SECONDS)  # so that the caller's thread takes a shard
        threading.Event().wait(0.05)  # all 40 would take two seconds

    with pytest.raises(KeyboardInterrupt):
        list(Engine(executor, window=40).map_ordered("s", Calling(interrupt), SHARDS, unit="items"))
    executor.close(cancel=True)
    assert 1 <= len(started) < 40


def test_what_raises_beside_the_task_is_told_and_the_thread_goes_on() -> None:
    executor = ThreadsExecutor(ExecutorOptions(workers=1))
    handle = executor.publish(None)

    def end(shard: Shard) -> int:
        if shard.index == 0:
            raise KeyboardInterrupt
        return shard.index

    first, second = (executor.submit(Calling(end), SHARDS[i], handle) for i in range(2))
    assert isinstance(first.exception(), KeyboardInterrupt)
    done = second.result()
    assert isinstance(done, Done)
    assert done.part == 1
    executor.close()
    assert not executor.compute_one()


def test_who_computes_leaves_the_end_of_a_thread_to_the_thread() -> None:
    executor = ThreadsExecutor(ExecutorOptions(workers=2))
    begun, gate = threading.Event(), threading.Event()

    def hold(shard: Shard) -> bool:
        begun.set()
        return gate.wait(SECONDS)

    held = executor.submit(Calling(hold), SHARDS[0], executor.publish(None))
    assert begun.wait(SECONDS)
    closing = threading.Thread(target=executor.close, daemon=True)
    closing.start()
    while executor._waiting.empty():  # the thread's end is queued behind the shard it has in hand
        pass
    assert not executor.compute_one()
    gate.set()
    closing.join(SECONDS)
    assert not closing.is_alive()
    assert isinstance(held.result(), Done)
