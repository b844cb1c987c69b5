"""Worker processes on this machine, by loky: for tasks with Python-level work and for users' own functions.

loky notices a killed worker (``multiprocessing.Pool`` waits for it forever) but then fails every shard of the pool. The
board tells which shard the dead worker had in hand, so that only that one is counted as a loss and the bystanders are
resubmitted free of charge. A pool that breaks again and again with no shard in any hand (workers cannot even start) is
held against all its shards, so that this ends too.

A watch thread kills workers without a pulse for ``stall_timeout`` seconds (SIGSTOP, a dead disk): from then on they are
lost workers like any other. Idle ones too: an idle worker waits with the lock of the queue in its hand, so a stopped one
stops all.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from concurrent.futures import Future
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from loky import ProcessPoolExecutor
from loky.backend.context import ctx_loky
from loky.process_executor import BrokenProcessPool

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Task
from samebits.errors import ConfigError, OutputFailed, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.liveness import IDLE, LivenessBoard, Seat
from samebits.executors.messages import Parcel, load_once, store, unwrap, wrap
from samebits.executors.run_folder import RunFolder
from samebits.executors.worker import failed, run_shard
from samebits.machine.caps import THREAD_CAPS
from samebits.machine.descriptors import require_descriptors
from samebits.machine.memory import peak_of
from samebits.machine.signals import interrupts_blocked, kill

__all__ = ["ProcessesExecutor"]

WATCH_SECONDS = 1.0
POOL_DESCRIPTORS = 24  # 11 and one a worker stay open; more are open for a moment while a worker starts
# A pool may break so often in a row, with no shard in hand and no result, before shards are blamed.
FREE_BREAKS = 3
_seat: Seat | None = None  # set once in each worker process by _start_worker
_core: int | None = None  # descriptor whose lock says which core is taken, in each pinned worker process


class ProcessesExecutor:
    """A pool of spawned processes that survives the loss of any of them."""

    name = "processes"

    def __init__(self, options: ExecutorOptions) -> None:
        require_descriptors(POOL_DESCRIPTORS + 2 * options.workers, "-x processes")
        self.workers = options.workers
        self.largest_worker = 0  # peak memory in bytes, known when the workers are gone
        self._options = options
        self._run_folder = RunFolder()
        self._folder = self._run_folder.path
        for name in ("board", "cores", "outcomes"):
            (self._folder / name).mkdir()
        self._board = LivenessBoard(self._folder / "board")
        self._num_stored = 0
        self._sent: tuple[Task, str] | None = None  # the last task and where it is stored
        self._stalled: set[int] = set()
        self._lock = threading.Lock()  # guards the three below: a pool breaks in a thread of loky
        self._broken = False
        self._lost_hands: set[int] = set()  # shards in the hands of dead workers when the pool broke
        self._bare_breaks = 0  # breaks with no shard in hand since the last result
        self._pool = self._start_pool()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="samebits-watch", daemon=True).start()

    def _start_pool(self) -> Any:
        resource_tracker.ensure_running()  # if it started with the first worker, it would undo interrupts_blocked
        cores = sorted(os.sched_getaffinity(0)) if self._options.pin_cores else []
        return ProcessPoolExecutor(
            max_workers=self.workers,
            context=ctx_loky,  # by name it would be the copy of loky inside joblib, where that was imported later
            env=THREAD_CAPS,
            initializer=_start_worker,
            initargs=(str(self._folder), os.getpid(), cores, self.workers),
        )

    def publish(self, state: Any) -> Handle:
        """Write the state to a file that each worker loads once; small states would not need it, large ones do."""
        try:
            return Handle(path=self._store(state))
        except OutputFailed:
            raise
        except Exception as error:
            raise ConfigError(
                f"the state of this stage cannot be sent to worker processes: {type(error).__name__}: {error}",
                hint="use -x threads, or let the tasks make what cannot be pickled",
            ) from error

    def _store(self, value: Any) -> str:
        path = self._folder / f"stored-{self._num_stored}"
        self._num_stored += 1
        try:
            store(value, path)
        except OSError as error:
            raise _temporary_folder_failed(self._folder, error) from error
        return str(path)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Queue the shard; whatever goes wrong shows in the future, not here."""
        result: Future[Outcome] = Future()
        try:
            if self._sent is None or self._sent[0] is not task:
                self._sent = (task, self._store(task))
            with interrupts_blocked():
                inner = self._pool.submit(_run, self._sent[1], shard, handle)
        except (BrokenProcessPool, RuntimeError, OSError) as error:
            result.set_exception(self._lost(shard, error))
        except Exception as error:  # the task cannot be pickled
            result.set_exception(error)
        else:
            inner.add_done_callback(lambda done: self._pass_on(shard, done, result))
        return result

    def _pass_on(self, shard: Shard, inner: Future[Parcel], result: Future[Outcome]) -> None:
        """Resolve the future the engine waits for: an exception that got away here would make it wait for ever."""
        if inner.cancelled():
            result.cancel()
            return
        try:
            outcome = unwrap(inner.result())
        except (BrokenProcessPool, MemoryError) as error:
            result.set_exception(self._lost(shard, error))
        except BaseException as error:
            result.set_exception(error)
        else:
            self._bare_breaks = 0
            result.set_result(outcome)

    def _lost(self, shard: Shard, error: BaseException) -> WorkerLost:
        """Say whether this shard was in the hand of a dead worker, or only in a pool that broke."""
        with self._lock:
            # The first to hear of this break looks at the board, before loky kills the rest.
            if not self._broken:
                self._broken = True
                self._note_lost_hands()
        blamed = shard.index in self._lost_hands or self._bare_breaks > FREE_BREAKS
        if not blamed:
            return WorkerLost("the pool broke while this shard waited")
        reason = _exit_reason(error)
        if self._stalled:
            reason = f"no sign of life for {self._options.stall_timeout:g} s"
        return WorkerLost(f"a worker died ({reason})", shard=shard.index, reason=reason)

    def _note_lost_hands(self) -> None:
        try:
            self._lost_hands = set(self._board.lost().values())
        except OSError:
            self._lost_hands = set()  # a worker came or went while the board was read
        self._bare_breaks = 0 if self._lost_hands else self._bare_breaks + 1

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
            for pid, ticks in self._board.tick(list(self._pool._processes)).items():
                if ticks * WATCH_SECONDS > self._options.stall_timeout:
                    self._stalled.add(pid)
                    kill(pid)

    def close(self, *, cancel: bool = False) -> None:
        """End the workers and remove the run's folder.

        Workers are killed even when all is done: a polite goodbye goes through the queue, whose lock a stopped or
        killed worker may hold for ever, and a worker has nothing left to do.
        """
        self.largest_worker = max(map(peak_of, list(self._pool._processes)), default=0)
        try:
            self._pool.shutdown(wait=True, kill_workers=True)
        finally:
            self._closed.set()
            self._run_folder.remove()


def _exit_reason(error: BaseException) -> str:
    """Take the exit codes out of loky's message.

    >>> _exit_reason(RuntimeError("... The exit codes of the workers are {SIGKILL(-9)}"))
    'SIGKILL(-9)'
    >>> _exit_reason(OSError(11, "Resource temporarily unavailable"))
    'cannot start a worker: Resource temporarily unavailable'
    """
    if isinstance(error, OSError):
        return f"cannot start a worker: {error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory"
    _, found, tail = str(error).partition("exit codes of the workers are {")
    return tail.partition("}")[0] if found else "its process ended"


def _temporary_folder_failed(folder: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"cannot write {folder}: {error.strerror}",
        hint="free some space there, or set TMPDIR to a folder on a disk that has some",
    )


def _start_worker(folder: str, driver: int, cores: list[int], workers: int) -> None:
    """Prepare a worker process: Ctrl-C belongs to the driver, and the board shows what is in hand."""
    global _seat
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    run_folder = Path(folder)
    _seat = Seat(run_folder / "board", run_folder=run_folder, driver=driver)
    if cores:
        _pin(run_folder / "cores", cores, workers)


def _pin(folder: Path, cores: list[int], workers: int) -> None:
    """Take the first place that nobody holds; the lock goes with the process, so a new worker can have it."""
    global _core
    for place in range(workers):
        descriptor = os.open(folder / str(place), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            _core = descriptor
            os.sched_setaffinity(0, {cores[place % len(cores)]})
            return


def _run(task_path: str, shard: Shard, handle: Handle) -> Parcel:
    assert _seat is not None, "the pool's initializer did not run"
    outcomes = Path(task_path).with_name("outcomes")
    _seat.take(shard.index)
    try:
        return wrap(_outcome(task_path, shard, handle), outcomes)
    except OSError as error:
        return wrap(failed(shard, _temporary_folder_failed(outcomes, error)), outcomes)
    finally:
        _seat.take(IDLE)


def _outcome(task_path: str, shard: Shard, handle: Handle) -> Outcome:
    try:
        task, state = load_once(task_path), load_once(handle.path)
    except (Exception, SystemExit) as error:
        return failed(shard, error)
    return run_shard(task, shard, state, worker=f"process {os.getpid()}", encoded=True)
