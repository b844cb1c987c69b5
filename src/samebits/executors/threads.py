"""Threads of this process: for tasks whose kernels release the GIL. Nothing is spawned, nothing is pickled."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from samebits.core.executor import Handle, Outcome, Task
from samebits.core.plan import Shard
from samebits.executors import ExecutorOptions
from samebits.executors.worker import run_shard

__all__ = ["ThreadsExecutor"]


class ThreadsExecutor:
    """A thread pool of fixed size."""

    name = "threads"

    def __init__(self, options: ExecutorOptions) -> None:
        self.workers = options.workers
        self._pool = ThreadPoolExecutor(options.workers, thread_name_prefix="samebits")

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is: threads see it."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Queue the shard."""
        return self._pool.submit(_run, task, shard, handle.value)

    def recover(self, workers: int) -> None:
        """Do nothing: a thread is lost only with the whole process."""

    def close(self, *, cancel: bool = False) -> None:
        """End the threads; with ``cancel``, shards not yet started are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=cancel)


def _run(task: Task, shard: Shard, state: Any) -> Outcome:
    return run_shard(task, shard, state, worker=threading.current_thread().name, encoded=False)
