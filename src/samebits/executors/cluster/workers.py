"""What Dask and Ray share: the orders workers get, the checks before the first shard, and the way parts come back.

A cluster is a place that nobody has set up for this run. So each worker is looked at first: its versions, its CPU type
(for floating jobs) and whether it sees the inputs. A worker that joins later is looked at with its first shard.

Parts above ``INLINE_BYTES`` do not travel through the cluster's scheduler. If a worker sees the folder beside the output
(it reads a token that the driver wrote there), it writes the part into it and sends the digest alone; if it does not, or
the disk there is full, the part goes inline like a small one. The driver compares what it reads with the digest.

Pickles are exchanged with the cluster's own authentication; whoever may submit to a cluster may run code on it anyway.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from loky.backend.reduction import dumps

from samebits.core.observing import clock
from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Outcome
from samebits.errors import ConfigError, EnvironmentMismatch, InputError, OutputFailed, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.cluster.answers import Answers, put_answers
from samebits.executors.cluster.claims import ClaimedShards, Claims
from samebits.executors.cluster.in_hand import put_down, take_up
from samebits.executors.messages import pack, unpack
from samebits.executors.worker import failed, run_shard
from samebits.machine.caps import cap_threads
from samebits.machine.environment import first_difference, worker_environment

__all__ = [
    "Look",
    "WorkerOrders",
    "check_looks",
    "clean_up",
    "leave_answers",
    "look",
    "look_seconds",
    "make_order",
    "open_answer",
    "packed_state",
    "tick",
    "work",
    "work_together",
]

# below, a file costs more than the bytes; Ray keeps results up to 100 kB out of its store
INLINE_BYTES = 1 << 16
LOADED = 4  # the tasks and states of this stage and the one before
SHORTEST_LOOK, LONGEST_LOOK = 1.0, 10.0
LOOKS_PER_STALL = 6
MOST_UNSEEN = 3  # paths named of those a worker cannot see


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """What a worker must know of a run; it travels with the task, once.

    Attributes:
        token: Name of the run, and what the spool holds for workers to find.
        environment: What the driver computes with.
        floating: Whether CPU types must be equal.
        spool: Folder for large parts, or empty.
    """

    token: str
    environment: dict[str, Any]
    floating: bool
    spool: str


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen on a worker: its environment, and the inputs (path, reason) that it cannot see."""

    environment: dict[str, Any]
    unseen: tuple[tuple[str, str], ...]


def make_order(options: ExecutorOptions, run_folder: Path | None) -> WorkerOrders:
    """Write the token into the spool, removing what a killed run left there.

    Without an output to be beside, the workers of a cluster of ours share the folder of the run.
    """
    spool = options.spool or (str(run_folder / "spool") if run_folder else "")
    order = WorkerOrders(uuid4().hex, worker_environment(), options.floating, spool)
    if order.spool:
        try:
            shutil.rmtree(order.spool, ignore_errors=True)
            Path(order.spool).mkdir(parents=True)
            (Path(order.spool) / order.token).write_text(order.token)
        except OSError as error:
            raise OutputFailed(
                f"cannot write {order.spool}: {error.strerror}", hint="free some space there"
            ) from error
    return order


def packed_state(value: Any) -> bytes:
    """Pickle a state for the workers; users' own functions may be closures."""
    try:
        return bytes(dumps(value))
    except Exception as error:
        raise ConfigError(
            f"the state of this stage cannot be sent to a cluster: {type(error).__name__}: {error}",
            hint="use -x threads, or let the tasks make what cannot be pickled",
        ) from error


def look(files: Iterable[tuple[str, int]]) -> Look:
    """Look around on a worker."""
    unseen = []
    for path, size in files:
        try:
            found = Path(path).stat().st_size
        except OSError as error:
            unseen.append((path, error.strerror or "cannot be read"))
        else:
            if found != size:
                unseen.append((path, f"it has {found} bytes there, {size} here"))
        if len(unseen) == MOST_UNSEEN:
            break
    return Look(worker_environment(), tuple(unseen))


def check_looks(order: WorkerOrders, looks: Mapping[str, Look]) -> None:
    """Refuse a cluster on which the result could differ, or could not be computed.

    Raises:
        EnvironmentMismatch: names worker, field and both values.
        InputError: names path and worker.
    """
    for worker in sorted(looks):
        _check_environment(order, looks[worker].environment, worker)
    for worker in sorted(looks):
        for path, reason in looks[worker].unseen:
            raise InputError(
                f"the worker {worker} cannot see it: {reason}",
                path=path,
                hint="put it where every worker finds it under this path (a shared disk), or give a URL",
            )


def _check_environment(order: WorkerOrders, theirs: dict[str, Any], worker: str) -> None:
    difference = first_difference(order.environment, theirs, floating=order.floating)
    if difference is None:
        return
    name, here, there = difference
    if name in ("machine", "cpu", "simd"):
        hint = "floating-point results are promised on one CPU type: use workers of one kind"
    else:
        hint = "install the same Python, the same wheel of samebits and the same libraries on every worker"
    raise EnvironmentMismatch(f"the worker {worker} has {name} {there}, this run has {here}", hint=hint)


_loaded: OrderedDict[str, Any] = OrderedDict()
_load_lock = threading.Lock()  # a worker of Dask may run several shards at a time, in threads


def _load(key: str, fetch: Callable[[], bytes]) -> Any:
    """Return a published value; each process unpickles it once."""
    with _load_lock:
        if key not in _loaded:
            _loaded[key] = pickle.loads(fetch())  # noqa: S301 - see the module docstring
            while len(_loaded) > LOADED:
                _loaded.popitem(last=False)
        return _loaded[key]


def work_together(
    task: tuple[str, Callable[[], bytes]],
    state: tuple[str, Callable[[], bytes]],
    shards: Sequence[Shard],
    worker: str,
    claims: Claims | None,
) -> Answers:
    """Run the shards of one message, or of a list that several messages share those that this one claims.

    Args:
        task: As for ``work``.
        state: As for ``work``.
        shards: What to do.
        worker: Name of this worker.
        claims: Of the message, if the list is shared.
    """
    share = ClaimedShards(claims, len(shards)) if claims else None
    places = range(len(shards)) if share is None else share
    found = {place: work(task, state, shards[place], worker) for place in places}
    return Answers(found, more=share is not None and share.more)


def leave_answers(task_key: str, name: str, answers: Answers) -> None:
    """Leave the answers of a message in the spool as well, if it is in sight and no large part is among them."""
    order: WorkerOrders | None = _loaded[task_key][0] if task_key in _loaded else None
    sees = order and order.spool and _sees_spool(order.spool, order.token)
    if order and sees and all(map(_is_inline, answers.found.values())):
        put_answers(order.spool, name, answers)


def _is_inline(answer: bytes) -> bool:
    path, packed = pickle.loads(answer)  # noqa: S301 - made here
    return not path and len(packed) <= 2 * INLINE_BYTES


def work(
    task: tuple[str, Callable[[], bytes]], state: tuple[str, Callable[[], bytes]], shard: Shard, worker: str
) -> bytes:
    """Run one shard on a worker and return the answer; never raises for a fault of the task.

    Args:
        task: Key of the order with its task, and how to fetch them.
        state: Key of the state, and how to fetch it.
        shard: What to do.
        worker: Name of this worker.
    """
    _one_math_thread()
    order: WorkerOrders
    try:
        order, to_do = _load(*task)
        _admit(order, worker)
        value = _load(*state)
    except (Exception, SystemExit) as error:
        return pickle.dumps(("", pack(failed(shard, error))))
    take_up(order.spool, order.token, worker, shard.index)
    try:
        outcome = run_shard(to_do, shard, value, worker=worker, encoded=True)
    finally:
        put_down()
    path = _spooled(order, outcome) if isinstance(outcome, Done) else ""
    if path:
        outcome = replace(outcome, part=b"")  # type: ignore[arg-type]  # it is Done: only parts are spooled
    return pickle.dumps((path, pack(outcome)), protocol=pickle.HIGHEST_PROTOCOL)


def _admit(order: WorkerOrders, worker: str) -> None:
    """Look at this worker's own environment; 5 µs, so a worker that joined late is caught with its first shard."""
    _check_environment(order, worker_environment(), worker)


@lru_cache(maxsize=1)
def _one_math_thread() -> None:
    """Hold this process to one math thread from now on, in libraries that are loaded and in those that will be."""
    cap_threads()
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)


@lru_cache(maxsize=LOADED)
def _sees_spool(folder: str, token: str) -> bool:
    try:
        return (Path(folder) / token).read_text() == token
    except OSError:
        return False


def _spooled(order: WorkerOrders, done: Done) -> str:
    """Write a large part beside the output and return its path, or nothing if it has to go inline."""
    if len(done.part) <= INLINE_BYTES or not order.spool or not _sees_spool(order.spool, order.token):
        return ""
    path = Path(order.spool) / f"{order.token}-{uuid4().hex}"
    try:
        path.write_bytes(done.part)
    except OSError:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return ""  # the disk is full or gone; the network is not
    return str(path)


def open_answer(data: bytes, shard: Shard) -> Outcome:
    """Return the outcome of an answer, with its part read from the spool.

    Raises:
        WorkerLost: if the part in the spool is not what the worker wrote; it is computed again.
    """
    path, packed = pickle.loads(data)  # noqa: S301 - see the module docstring
    outcome = unpack(packed)
    if not isinstance(outcome, Done):
        return outcome
    outcome = replace(outcome, started=clock.seconds() - outcome.seconds)  # clocks of machines differ
    if not path:
        return outcome
    try:
        part = Path(path).read_bytes()
        Path(path).unlink()
    except OSError as error:
        raise _damaged(shard, f"cannot read {path}: {error.strerror}") from error
    if hashlib.sha256(part).hexdigest() != outcome.digest:
        raise _damaged(shard, f"{path} is not what the worker wrote")
    return replace(outcome, part=part)


def _damaged(shard: Shard, reason: str) -> WorkerLost:
    return WorkerLost(f"the part of shard {shard.index} did not arrive", shard=shard.index, reason=reason)


def tick(before: tuple[Any, int] | None, pulse: Any) -> tuple[Any, int]:
    """Return a pulse and how many looks it has not moved; looks are counted because clocks of machines differ.

    >>> tick((7, 2), 7), tick((7, 2), 8), tick(None, 7)
    ((7, 3), (8, 0), (7, 0))
    """
    return pulse, before[1] + 1 if before is not None and before[0] == pulse else 0


def look_seconds(stall_timeout: float) -> float:
    """Return how long to wait between two looks at the workers: each costs the driver milliseconds, more with many workers.

    >>> [look_seconds(timeout) for timeout in (2.0, 24.0, 60.0, 600.0)]
    [1.0, 4.0, 10.0, 10.0]
    """
    return min(max(SHORTEST_LOOK, stall_timeout / LOOKS_PER_STALL), LONGEST_LOOK)


def clean_up(order: WorkerOrders, environment: Mapping[str, str], names: Iterable[str]) -> None:
    """Remove the spool, and put back the variables of this process that a cluster of ours has changed."""
    if order.spool:
        shutil.rmtree(order.spool, ignore_errors=True)
    for name in names:
        if name in environment:
            os.environ[name] = environment[name]
        else:
            os.environ.pop(name, None)
