"""For jobs whose work is training steps: carries the number of workers, runs the few map stages in this thread.

Training workers are started by ``samebits.lockstep``, not by an executor: they share memory and meet at barriers several
times a step, which "take a shard, give a future" cannot say. A job of that kind names ``lockstep`` as its executor, so that
the number of workers is chosen, capped at its gradient shards and explained like everywhere else.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Task
from samebits.executors import ExecutorOptions
from samebits.executors.worker import run_shard

__all__ = ["LockstepExecutor", "make_torchrun_executor"]


class LockstepExecutor:
    """Runs each shard of a map stage when it is submitted; ``workers`` is what training will use."""

    def __init__(self, options: ExecutorOptions | None = None) -> None:
        self.name = "lockstep"
        self.workers = (options or ExecutorOptions()).workers

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Run the shard now and return a future that is done."""
        future: Future[Outcome] = Future()
        future.set_result(run_shard(task, shard, handle.value, worker="lockstep", encoded=False))
        return future

    def recover(self, workers: int) -> None:
        """Do nothing: this thread cannot be lost."""

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing: there is nothing to release."""


def make_torchrun_executor(options: ExecutorOptions) -> LockstepExecutor:
    """Return the same under the name of the one who starts the workers; here that is one worker for each rank."""
    executor = LockstepExecutor(options)
    executor.name = "torchrun"
    return executor
