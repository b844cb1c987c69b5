"""Threads of this process: for tasks whose kernels release the GIL. Nothing is spawned, nothing is pickled.

The thread that folds is one of the workers: while no part waits for it, it computes a shard. With threads for all workers
and one more that folds, two cores have three threads to run, which push one another off them, at times with the GIL in
hand: ``langid`` with two workers needed 249 ms that way where it needs 226 now, 194 and 179 in a better hour.

A shard may take long, and who computes cannot fold, warn or show progress meanwhile. So after the first shard of more than
a second the folding thread leaves computing to one thread more.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from samebits.core.observing import clock
from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Promise, Task
from samebits.executors import ExecutorOptions
from samebits.executors.worker import run_shard

__all__ = ["ThreadsExecutor"]

LONG_SECONDS = 1.0


class _Given:
    """A promise that one thread gives and another keeps; ``concurrent.futures`` has it too, and brings logging: 6 ms."""

    def __init__(self) -> None:
        self._kept = threading.Lock()
        self._kept.acquire()
        self._guard = threading.Lock()
        self._callbacks: list[Callable[[Any], object]] | None = []
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None

    def keep(self, outcome: Outcome | None, error: BaseException | None = None) -> None:
        """Set what came of it, once."""
        self._outcome, self._error = outcome, error
        with self._guard:
            callbacks, self._callbacks = self._callbacks or [], None
        self._kept.release()
        for fn in callbacks:
            fn(self)

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call ``fn`` once it is kept, at once if it is."""
        with self._guard:
            if self._callbacks is not None:
                self._callbacks.append(fn)
                return
        fn(self)

    def exception(self) -> BaseException | None:
        """Wait; return what went wrong around the task."""
        with self._kept:
            return self._error

    def result(self) -> Outcome:
        """Wait; return the outcome."""
        error = self.exception()
        if error is not None:
            raise error
        assert self._outcome is not None
        return self._outcome


class _Call(NamedTuple):
    promise: _Given
    task: Task
    shard: Shard
    state: Any

    def compute(self, worker: str) -> None:
        self.promise.keep(run_shard(self.task, self.shard, self.state, worker=worker, encoded=False))


class ThreadsExecutor:
    """As many threads as workers, the caller's among them; one worker is a thread beside the caller's."""

    name = "threads"
    runs_here = True

    def __init__(self, options: ExecutorOptions) -> None:
        self.workers = options.workers
        self._waiting: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._computes_here = options.workers > 1
        for _ in range(max(1, options.workers - 1)):
            self._start_thread()

    def _start_thread(self) -> None:
        name = f"samebits_{len(self._threads)}"
        # a daemon: an executor that nobody closes must not keep the process
        thread = threading.Thread(target=self._work, args=(name,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self, name: str) -> None:
        while (call := self._waiting.get()) is not None:
            try:
                call.compute(name)
            except BaseException as error:  # ``run_shard`` lets through what ends a thread
                call.promise.keep(None, error)
            del call  # and with it the shard's part, before the next one is waited for

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is: threads see it."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Promise:
        """Queue the shard."""
        promise = _Given()
        self._waiting.put(_Call(promise, task, shard, handle.value))
        return promise

    def compute_one(self) -> bool:
        """Compute a waiting shard in the caller's thread; an interrupt ends the call as it would end the caller's own work."""
        if not self._computes_here:
            return False
        try:
            call = self._waiting.get_nowait()
        except queue.Empty:
            return False
        if call is None:  # the end of a thread, which would wait for it forever
            self._waiting.put(None)
            return False
        started = clock.seconds()
        call.compute(f"samebits_{self.workers - 1}")
        if clock.seconds() - started > LONG_SECONDS:
            self._computes_here = False
            self._start_thread()
        return True

    def recover(self, workers: int) -> None:
        """Do nothing: a thread is lost only with the whole process."""

    def close(self, *, cancel: bool = False) -> None:
        """End the threads; with ``cancel``, shards not yet started are dropped."""
        if cancel:
            self._drop_waiting()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _drop_waiting(self) -> None:
        while True:
            try:
                self._waiting.get_nowait()
            except queue.Empty:
                return
