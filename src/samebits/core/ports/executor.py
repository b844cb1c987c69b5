"""The port between what is computed and where: "take a shard, give a future". Everything else is the engine's.

Every engine underneath (a thread pool, loky, Dask, Ray) delivers at least once and in any order. So order, retry,
journal and resume live in ``engine.py``, and an executor stays small enough to be one file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.errors import SamebitsError

__all__ = [
    "Done",
    "Executor",
    "Failed",
    "Handle",
    "HelpedExecutor",
    "NamedTask",
    "Outcome",
    "Promise",
    "Task",
]


class Task(Protocol):
    """What is done with one shard: a module-level frozen dataclass, so that plain pickle carries it.

    A task whose part is a NamedTuple says so in ``part_type`` (see ``NamedTask``), and the fold gets it as that again.
    """

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        """Return the part, as plain data; must depend on nothing but its arguments."""
        ...


class NamedTask(Task, Protocol):
    """A task that returns a NamedTuple of plain data."""

    part_type: ClassVar[type[Any]]


@dataclass(frozen=True, slots=True)
class Handle:
    """A published state: ``value`` where workers share memory, else ``path`` of a file that workers load once.

    ``kept`` says that the parts of its stage are small, because workers keep what they make: none of them is in a hurry to arrive.
    """

    value: Any = None
    path: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A finished shard. ``part`` is the value itself, or its encoding when ``encoded``."""

    index: int
    part: Any
    encoded: bool
    digest: str
    started: float
    seconds: float
    worker: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A shard whose task raised. ``error`` is set when the task raised one of our own errors on purpose."""

    index: int
    summary: str
    remote_traceback: str
    error: SamebitsError | None


Outcome = Done | Failed


class Promise(Protocol):
    """What comes of a submitted shard: the part of ``concurrent.futures.Future`` that the engine uses.

    Only that part, because importing the module costs a run on one worker 6 ms and gives it nothing.
    """

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call ``fn`` with the promise once it is kept, at once if it is."""
        ...

    def exception(self) -> BaseException | None:
        """Return what went wrong around the task, or None."""
        ...

    def result(self) -> Outcome:
        """Return the outcome."""
        ...


class Executor(Protocol):
    """Where tasks run.

    A promise resolves to Done or Failed. If its worker was lost it raises WorkerLost: with ``shard`` set when that
    worker had this shard in hand, without when the shard was only a bystander of a broken pool.

    One whose caller may compute too is a ``HelpedExecutor``. One whose tasks run in this process says ``runs_here = True``. One that sends
    several shards at once says by ``kept_per_worker`` how many it wants to have for each worker where parts are small.
    """

    name: str
    workers: int

    def publish(self, state: Any) -> Handle:
        """Make a state available to all workers, once."""
        ...

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Promise:
        """Start one shard; returns at once (serial executors may run it first)."""
        ...

    def recover(self, workers: int) -> None:
        """Make submitting possible again after WorkerLost, with this many workers."""
        ...

    def close(self, *, cancel: bool = False) -> None:
        """Release everything; with ``cancel`` do not wait for running shards."""
        ...


class HelpedExecutor(Executor, Protocol):
    """An executor that lets the engine compute when it would otherwise wait."""

    def compute_one(self) -> bool:
        """Compute one waiting shard in the caller's thread; say whether there was one."""
        ...
