"""Executors for tests: they misbehave on purpose, in ways a cluster does by accident.

``ShuffledExecutor`` gives results in adversarial order in milliseconds; ``FailingExecutor`` loses workers. Whoever
writes a job can test it with them without starting a pool::

    engine = Engine(ShuffledExecutor(seed=1))
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Task
from samebits.core.seeds import rng_for
from samebits.errors import WorkerLost
from samebits.executors.worker import run_shard

__all__ = ["FailingExecutor", "ShuffledExecutor"]

SETTLE_SECONDS = 0.0005  # the engine submits a window in one go; after this silence it is waiting


class ShuffledExecutor:
    """Runs whatever shards are waiting in an order drawn from a seed; order -1 is strictly last in, first out."""

    name = "shuffled"

    def __init__(self, *, seed: int = 0, workers: int = 4) -> None:
        self.workers = workers
        self._rng = rng_for(seed, "shuffled") if seed >= 0 else None
        self._waiting: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="samebits-shuffled", daemon=True)
        self._thread.start()

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Put the shard among those waiting."""
        future: Future[Outcome] = Future()

        def run() -> None:
            future.set_result(run_shard(task, shard, handle.value, worker="shuffled", encoded=False))

        with self._changed:
            self._waiting.append(run)
            self._changed.notify()
        return future

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                while self._changed.wait(SETTLE_SECONDS):
                    pass  # more is being submitted
                if self._closed:
                    return
                choice = (
                    len(self._waiting) - 1
                    if self._rng is None
                    else int(self._rng.integers(len(self._waiting)))
                )
                run = self._waiting.pop(choice)
            run()

    def recover(self, workers: int) -> None:
        """Do nothing: nothing is ever lost here."""

    def close(self, *, cancel: bool = False) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()


class FailingExecutor:
    """Loses the worker of chosen shards a given number of times before it lets them through.

    Args:
        losses: Shard index -> how often its worker is lost.
        workers: Pretended number of workers.
    """

    name = "failing"

    def __init__(self, losses: dict[int, int], *, workers: int = 4) -> None:
        self.workers = workers
        self.recoveries: list[int] = []
        self._left = dict(losses)

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Run the shard, or lose its worker."""
        future: Future[Outcome] = Future()
        if self._left.get(shard.index, 0) > 0:
            self._left[shard.index] -= 1
            future.set_exception(WorkerLost("lost on purpose", shard=shard.index, reason="SIGKILL(-9)"))
        else:
            future.set_result(run_shard(task, shard, handle.value, worker="failing", encoded=False))
        return future

    def recover(self, workers: int) -> None:
        """Remember with how many workers the engine wants to go on."""
        self.recoveries.append(workers)
        self.workers = workers

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing: there is nothing to release."""
