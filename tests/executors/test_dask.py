"""Dask alone: values that are being copied and answers that wait to be fetched when a worker dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conftest import needs_extra
from tests.executors import tasks

from samebits.core.engine import Engine
from samebits.core.plan import cut
from samebits.errors import ClusterLost
from samebits.executors import ExecutorOptions, make_executor

SHARDS = cut([12], 1)
COPYING_SECONDS = 1.0  # the value is on one worker by then, and the other one is asked to fetch it
PATIENCE_SECONDS = 40.0


@pytest.fixture
def executor() -> Iterator[Any]:
    needs_extra("dask")
    made = make_executor("dask", ExecutorOptions(workers=2))
    yield made
    made.close(cancel=True)


@pytest.mark.parametrize("stopped", [0, 1], ids=["first to get it", "second to get it"])
def test_a_worker_that_dies_while_values_are_copied_is_not_waited_for(executor: Any, stopped: int) -> None:
    """Dask's own broadcast asks a dead worker for ever; it is stopped first, so that it cannot be faster than its death."""
    from distributed import utils_comm

    utils_comm._round_robin_counter[0] = 0  # the first value goes to the first worker
    nannies = sorted(executor._cluster.workers.values(), key=lambda nanny: nanny.worker_address)
    victim = nannies[stopped].process.pid
    os.kill(victim, signal.SIGSTOP)
    found: list[Any] = []

    def run() -> None:
        parts = Engine(executor).map_ordered("s", tasks.AddState(), SHARDS, state="value", unit="items")
        found.extend(part["state"] for _, part in parts)

    running = threading.Thread(target=run, daemon=True)
    running.start()
    running.join(COPYING_SECONDS)
    assert running.is_alive()
    os.kill(victim, signal.SIGKILL)
    running.join(PATIENCE_SECONDS)
    assert found == ["value"] * len(SHARDS)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer be found in the spool, so that all of them have to be fetched."""
    monkeypatch.setattr("samebits.executors.cluster.dask.take_answers", lambda folder, name: None)


class ComputedAgain:
    """A future whose answer was lost with a worker, and is there once more when it is looked at again."""

    def __init__(self, future: Any) -> None:
        self._future = future
        self._statuses = iter(["lost"])

    @property
    def status(self) -> str:
        return next(self._statuses, self._future.status)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._future, name)


@pytest.mark.usefixtures("fetched")
def test_an_answer_that_is_computed_again_while_it_is_fetched_lands(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    land, looked_at = executor._land, []

    def land_again(batch: list[Any]) -> None:
        looked_at.extend(batch)
        land([ComputedAgain(future) for future in batch])

    monkeypatch.setattr(executor, "_land", land_again)
    flight = executor.submit(tasks.AddState(), SHARDS[0], executor.publish("value"))
    assert flight.result(timeout=PATIENCE_SECONDS).index == 0
    assert len(looked_at) == 1


@pytest.mark.usefixtures("fetched")
def test_answers_that_cannot_be_read_end_the_run(executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def land(batch: list[Any]) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(executor, "_land", land)
    flight = executor.submit(tasks.AddState(), SHARDS[0], executor.publish("value"))
    with pytest.raises(ClusterLost, match="RuntimeError: planted"):
        flight.result(timeout=PATIENCE_SECONDS)
