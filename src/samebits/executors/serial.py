"""The reference: one shard after the other, in this thread. Every other executor must give its digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Promise, Task
from samebits.executors import ExecutorOptions
from samebits.executors.worker import run_shard

__all__ = ["SerialExecutor"]


class _Kept:
    """A promise that is kept when it is given."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        fn(self)

    def exception(self) -> None:
        return None

    def result(self) -> Outcome:
        return self._outcome


class SerialExecutor:
    """Runs each shard when it is submitted."""

    name = "serial"
    runs_here = True

    def __init__(self, options: ExecutorOptions | None = None) -> None:
        self.workers = 1

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Promise:
        """Run the shard now."""
        return _Kept(run_shard(task, shard, handle.value, worker="serial", encoded=False))

    def recover(self, workers: int) -> None:
        """Do nothing: this thread cannot be lost."""

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing: there is nothing to release."""
