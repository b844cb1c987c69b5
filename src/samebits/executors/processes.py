"""Worker processes on this machine, by loky: for tasks with Python-level work and for users' own functions.

loky notices a killed worker (``multiprocessing.Pool`` waits for it forever) but then fails every shard of the pool. The
board tells which shard the dead worker had in hand, so that only that one is counted as a loss and the bystanders are
resubmitted free of charge.

A watch thread kills workers without a pulse for ``stall_timeout`` seconds (SIGSTOP, a dead disk): from then on they are
lost workers like any other.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from loky import ProcessPoolExecutor
from loky.process_executor import BrokenProcessPool

from samebits.core.executor import Handle, Outcome, Task
from samebits.core.plan import Shard
from samebits.errors import WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.board import IDLE, Board, Seat
from samebits.executors.caps import THREAD_CAPS
from samebits.executors.worker import run_shard, state_of

__all__ = ["ProcessesExecutor"]

WATCH_SECONDS = 1.0
_seat: Seat | None = None  # set once in each worker process by _start_worker


class ProcessesExecutor:
    """A pool of spawned processes that survives the loss of any of them."""

    name = "processes"

    def __init__(self, options: ExecutorOptions) -> None:
        self.workers = options.workers
        self._options = options
        self._folder = Path(
            tempfile.mkdtemp(prefix="samebits-")
        )  # mode 0700: only this user can plant a state
        (self._folder / "board").mkdir()
        self._board = Board(self._folder / "board")
        self._num_states = 0
        self._stalled: set[int] = set()
        self._broken = False
        self._pool = self._start_pool()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="samebits-watch", daemon=True).start()

    def _start_pool(self) -> Any:
        cores = sorted(os.sched_getaffinity(0)) if self._options.pin_cores else []
        return ProcessPoolExecutor(
            max_workers=self.workers,
            env=THREAD_CAPS,
            initializer=_start_worker,
            initargs=(str(self._board.folder), cores),
        )

    def publish(self, state: Any) -> Handle:
        """Write the state to a file that each worker loads once; small states would not need it, large ones do."""
        path = self._folder / f"state-{self._num_states}"
        self._num_states += 1
        path.write_bytes(pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL))
        return Handle(path=str(path))

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Queue the shard; a broken pool shows in the future, not here."""
        result: Future[Outcome] = Future()
        try:
            inner = self._pool.submit(_run, task, shard, handle)
        except (BrokenProcessPool, RuntimeError) as error:
            result.set_exception(self._lost(shard, error))
        else:
            inner.add_done_callback(lambda done: self._pass_on(shard, done, result))
        return result

    def _pass_on(self, shard: Shard, inner: Future[Outcome], result: Future[Outcome]) -> None:
        if inner.cancelled():
            result.cancel()
        elif error := inner.exception():
            result.set_exception(self._lost(shard, error) if isinstance(error, BrokenProcessPool) else error)
        else:
            result.set_result(inner.result())

    def _lost(self, shard: Shard, error: BaseException) -> WorkerLost:
        """Say whether this shard was in the hand of a dead worker, or only in a pool that broke."""
        self._broken = True
        holders = [pid for pid, index in self._board.lost().items() if index == shard.index]
        if not holders:
            return WorkerLost("the pool broke while this shard waited")
        reason = _exit_reason(str(error))
        if self._stalled.intersection(holders):
            reason = f"no sign of life for {self._options.stall_timeout:g} s"
        return WorkerLost(f"a worker died ({reason})", shard=shard.index, reason=reason)

    def recover(self, workers: int) -> None:
        """Start a fresh pool if the old one broke."""
        if not self._broken:
            return
        self._pool.shutdown(wait=True, kill_workers=True)
        self._board.clear()
        self._stalled.clear()
        self.workers = workers
        self._pool = self._start_pool()
        self._broken = False

    def _watch(self) -> None:
        while not self._closed.wait(WATCH_SECONDS):
            try:
                stalled = self._board.stalled(self._options.stall_timeout)
            except OSError:
                continue  # the folder is being cleared
            for pid in stalled:
                self._stalled.add(pid)
                os.kill(pid, signal.SIGKILL)

    def close(self, *, cancel: bool = False) -> None:
        """End the workers and remove the run's folder; with ``cancel``, workers are killed at once."""
        self._closed.set()
        self._pool.shutdown(wait=True, kill_workers=cancel)
        shutil.rmtree(self._folder, ignore_errors=True)


def _exit_reason(message: str) -> str:
    """Take the exit codes out of loky's message.

    >>> _exit_reason("... The exit codes of the workers are {SIGKILL(-9)}")
    'SIGKILL(-9)'
    """
    _, found, tail = message.partition("exit codes of the workers are {")
    return tail.partition("}")[0] if found else "its process ended"


def _start_worker(board: str, cores: list[int]) -> None:
    """Prepare a worker process: Ctrl-C belongs to the driver, and the board shows what is in hand."""
    global _seat
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _seat = Seat(Path(board))
    if cores:
        seats = sorted(int(path.name) for path in Path(board).iterdir())
        os.sched_setaffinity(0, {cores[seats.index(os.getpid()) % len(cores)]})


def _run(task: Task, shard: Shard, handle: Handle) -> Outcome:
    assert _seat is not None, "the pool's initializer did not run"
    _seat.take(shard.index)
    try:
        return run_shard(task, shard, state_of(handle), worker=f"process {os.getpid()}", encoded=True)
    finally:
        _seat.take(IDLE)
