"""The reference: one shard after the other, in this thread. Every other executor must give its digest."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from samebits.core.executor import Handle, Outcome, Task
from samebits.core.plan import Shard
from samebits.executors import ExecutorOptions
from samebits.executors.worker import run_shard

__all__ = ["SerialExecutor"]


class SerialExecutor:
    """Runs each shard when it is submitted."""

    name = "serial"

    def __init__(self, options: ExecutorOptions | None = None) -> None:
        self.workers = 1

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Run the shard now and return a future that is done."""
        future: Future[Outcome] = Future()
        future.set_result(run_shard(task, shard, handle.value, worker="serial", encoded=False))
        return future

    def recover(self, workers: int) -> None:
        """Do nothing: this thread cannot be lost."""

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing: there is nothing to release."""
