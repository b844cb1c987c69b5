"""Tasks on a Ray cluster: one at an address (or ``auto``), or one started here.

Several shards are one Ray task (``grouping``) with Ray's retries off: when its worker or node dies, the task fails and the engine decides.
Tasks that only waited run elsewhere, so a failed task always had one of its shards in hand: the one its worker has written
down (``hands``), or, where no folder is shared, the first. Task and state are put into Ray's object store once; a worker fetches and unpickles them once.

Ray notices dead workers and nodes, but neither a stopped worker nor, for a minute, a dead head. So a thread in each
worker sends a pulse to a small actor, and a watch thread here knocks at the head's door every few seconds, once a second if it stays closed, and reads the
pulses: a worker without a pulse for ``stall_timeout`` is killed, a head that does not open ends the run with ClusterLost.
Behind a broken network a worker cannot be killed, and Ray waits minutes for its answer: so the shard it has in hand is given up
at the same moment, and what no living worker has in hand is submitted again.

A cluster of ours gets a token of its own for Ray's authentication and keeps it in memory: nobody else on the machine can
submit to it, and no file is written to the user's home. For a cluster at an address, Ray reads what the user has set up.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
import threading
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Task
from samebits.errors import ClusterLost, ConfigError, MissingExtra, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.cluster.answers import Answers
from samebits.executors.cluster.grouping import KEPT_PER_WORKER, Departures
from samebits.executors.cluster.in_flight import Flight, Flights, Message
from samebits.executors.cluster.in_hand import shards_in_hand
from samebits.executors.cluster.ray_pulse import KNOCK_SECONDS, Pulse, PulseBoard
from samebits.executors.cluster.workers import (
    Look,
    check_looks,
    clean_up,
    look,
    look_seconds,
    make_order,
    packed_state,
    tick,
    work_together,
)
from samebits.executors.run_folder import RunFolder
from samebits.machine.caps import THREAD_CAPS
from samebits.machine.signals import interrupts_blocked

try:
    ray: Any = import_module("ray")  # Any: its types know nothing of actors
    exceptions: Any = import_module("ray.exceptions")
except ImportError as error:
    raise MissingExtra("ray", extra="ray", needed_for="-x ray") from error

__all__ = ["RayExecutor"]

WATCH_SECONDS = 1.0  # between knocks at a door that was closed
MOST_SILENT = 5  # knocks at a closed door; Ray itself would end this process after a minute
LOOK_SECONDS = 60.0
STORE_BYTES = 256 << 20  # of a cluster of ours: states and orders; large parts go through the spool
LONGEST_PARENT = 20  # bytes; Ray adds some 65 to the folder of the run, and a socket's name may have 107
DEATHS = (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError)
REASONS = {"NodeDiedError": "its node died", "OutOfMemoryError": "out of memory"}
# Of a driver at an address: what its library does of itself every second, it does every ten, or each minute. A dashboard hears of tasks that much later.
CALMER = {
    "RAY_task_events_report_interval_ms": "10000",
    "RAY_core_worker_internal_heartbeat_ms": "10000",  # for tasks that Ray itself would try again
    "RAY_metrics_report_interval_ms": "60000",
}
AUTH = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_token = secrets.token_hex(32)  # one for all clusters of this process: Ray reads it once


class RayExecutor:
    """Shards as tasks of Ray."""

    name = "ray"
    kept_per_worker = KEPT_PER_WORKER

    def __init__(self, options: ExecutorOptions) -> None:
        if options.address.startswith("ray://"):
            hint = "run the command on a machine of the cluster with --address auto or --address HOST:6379"
            raise ConfigError(f"--address is {options.address!r}, an address of Ray Client", hint=hint)
        self._options = options
        self._environment = dict(os.environ)
        self._joined = ray.is_initialized()  # by the user's own program: then it stays when this run ends
        self._run_folder = None if options.address or self._joined else _short_folder()
        self._num_keys = 0
        self._closed = threading.Event()
        self._order = make_order(options, self._run_folder.path if self._run_folder else None)
        # No lists: with them Ray ended every second driver whose head was killed, without a word, before it was noticed here (dev/LOG.md).
        self._departures = Departures(lambda: self.workers, lambda: len(self._flights), "")
        self._flights = Flights("Ray", options.address, self._order, self._put, self._departures)
        try:
            if not self._joined:
                self._connect()
            self.workers = options.workers or int(ray.cluster_resources().get("CPU", 1))
            self._doors = _doors()
            self._check()
            self._board = self._start_board()
            self._run = ray.remote(num_cpus=1, max_retries=0)(_run)
        except BaseException:
            self.close(cancel=True)
            raise
        for target in (self._send, self._watch):
            threading.Thread(target=target, name=f"samebits-ray-{target.__name__}", daemon=True).start()

    def _connect(self) -> None:
        address = self._options.address
        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "configure_logging": True}
        _keep_off_stdout()
        try:
            with interrupts_blocked():
                if address:
                    os.environ.update({**CALMER, **os.environ})  # close() puts the environment back
                    ray.init(address=address, **quiet)
                else:
                    ray.init(**self._own_cluster(), **quiet)
        except Exception as error:  # Ray raises ConnectionError, RuntimeError, ValueError and its own
            first_line = str(error).strip().partition("\n")[0]
            raise ClusterLost(
                f"no Ray cluster answers at {address or 'this machine'}: {type(error).__name__}: {first_line}",
                hint="ray start --head starts one; if it asks for a token, docs/guides/cluster.md says where Ray looks",
            ) from error

    def _own_cluster(self) -> dict[str, Any]:
        os.environ.update(THREAD_CAPS)  # what Ray starts inherits them; close() puts the environment back
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if not any(name in os.environ for name in AUTH):
            os.environ["RAY_AUTH_TOKEN"] = _token  # authentication itself is on by default
        assert self._run_folder is not None
        return {
            "num_cpus": self._options.workers,
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
            "_temp_dir": str(self._run_folder.path),
        }

    def _check(self) -> None:
        """Look at every node before the first shard: its workers share Python, libraries and disks."""
        nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        files = ray.put(self._options.files)
        probe = ray.remote(num_cpus=0, max_retries=2)(_look)
        refs = {
            f"{address} (node {node[:8]})": probe.options(scheduling_strategy=_on(node)).remote(files)
            for node, address in nodes.items()
        }
        try:
            looks: dict[str, Look] = {
                name: ray.get(ref, timeout=LOOK_SECONDS) for name, ref in sorted(refs.items())
            }
        except exceptions.GetTimeoutError as error:
            raise self._flights.cluster_lost(f"a node does not answer within {LOOK_SECONDS:.0f} s") from error
        except exceptions.RayError as error:
            raise ClusterLost(
                f"a node of the Ray cluster cannot run samebits: {str(error).strip().splitlines()[-1]}",
                hint="install samebits on every node, in the same version",
            ) from error
        check_looks(self._order, looks)

    def _start_board(self) -> Any:
        """Start the board here, where a broken network does not hide it, before any worker can stop without a pulse."""
        own = _on(ray.get_runtime_context().get_node_id())
        board = ray.remote(num_cpus=0, max_restarts=-1)(PulseBoard).options(scheduling_strategy=own).remote()
        try:
            ray.get(board.look.remote(), timeout=LOOK_SECONDS)
        except exceptions.RayError as error:
            raise self._flights.cluster_lost("this machine's node starts no process") from error
        return board

    def publish(self, state: Any) -> Handle:
        """Put the state into the object store."""
        return Handle(value=self._put(packed_state(state)))

    def _put(self, data: bytes) -> tuple[str, Any]:
        if self._flights.lost is not None:
            raise self._flights.lost
        self._num_keys += 1
        return f"{self._order.token}-{self._num_keys}", ray.put(data)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Queue the shard; whatever goes wrong shows in the future, not here."""
        return self._flights.take_off(task, shard, handle)

    def _send(self) -> None:
        for message in chain.from_iterable(self._departures.batches()):
            try:
                if self._flights.lost is not None:
                    raise self._flights.lost
                self._start(message)
            except Exception as error:
                self._flights.refuse([message], error)

    def _start(self, message: Message) -> None:
        first = message.group.flights[0]
        # in a list, so that a worker fetches them when it does not have them yet, not for every shard
        ref = self._run.remote([first.task, first.state], message.shards, self._board)
        self._flights.put(ref, message)
        ref.future().add_done_callback(lambda done: self._end(ref, done))

    def _end(self, ref: Any, done: Future[Answers]) -> None:
        message, error = self._flights.pop(ref), done.exception()
        if message is None:
            return
        if error is None:
            self._flights.land(message, done.result())
        elif isinstance(error, DEATHS):
            self._blame(message, error)
        else:
            self._flights.lose(message, lambda flight: _explain(error))

    def _blame(self, message: Message, error: BaseException) -> None:
        """Tell the shard a dead worker had in hand from the others of its message; where nothing is known, it was the first."""
        self._departures.part()
        reason = REASONS.get(type(error).__name__, "its process ended")
        indexes = [flight.shard.index for flight in message.own_flights]
        hands = (shards_in_hand(self._order.spool, lambda name: True) or set()) & {*indexes}
        blamed = hands or indexes[:1]

        def lost(flight: Flight) -> WorkerLost:
            index = flight.shard.index if flight.shard.index in blamed else None
            return WorkerLost(f"a worker died ({reason})", shard=index, reason=reason)

        self._flights.lose(message, lost)

    def _watch(self) -> None:
        """Read the pulses and knock at the head's door; count ticks, because clocks differ."""
        pulses: dict[tuple[str, int], tuple[int, int]] = {}
        silent, rest = 0, look_seconds(self._options.stall_timeout)
        while not self._closed.wait(WATCH_SECONDS if silent else rest):
            silent = 0 if all(_opens(door) for door in self._doors) else silent + 1
            if silent >= MOST_SILENT:
                self._flights.give_up("its head does not answer")
                return
            if silent:
                continue
            beats = self._beats()
            ticks = {worker: tick(pulses.get(worker), count) for worker, count in beats.items()}
            for worker, (_, missed) in ticks.items():
                if missed * rest > self._options.stall_timeout:
                    self._kill(worker)
                    self._abandon(worker, [other for other in ticks if other != worker])
            pulses = ticks

    def _beats(self) -> dict[tuple[str, int], int]:
        with suppress(
            Exception
        ):  # the actor is being started again, or the head is gone: the next knock will tell
            found: dict[tuple[str, int], int] = ray.get(self._board.look.remote(), timeout=KNOCK_SECONDS)
            return found
        return {}

    def _kill(self, worker: tuple[str, int]) -> None:
        """End a stopped worker by a task on its node; from then on it is a dead one."""
        node, pid = worker
        with suppress(Exception):
            kill = ray.remote(num_cpus=0, max_retries=0)(_kill_worker)
            kill.options(scheduling_strategy=_on(node)).remote(pid)
            self._board.forget.remote(node, pid)

    def _abandon(self, worker: tuple[str, int], others: list[tuple[str, int]]) -> None:
        """Give up what a silent worker has in hand, and submit again what no other one has: its answer may be lost."""
        held = shards_in_hand(self._order.spool, lambda name: name == _worker_name(*worker))
        if held is None:
            return  # it has left no word: Ray itself will say in the end
        names = [_worker_name(*other) for other in others]
        living = shards_in_hand(self._order.spool, lambda name: name in names) or set()
        reason = f"no sign of life for {self._options.stall_timeout:g} s"
        self._departures.part()

        def lost(flight: Flight) -> WorkerLost:
            index = flight.shard.index if flight.shard.index in held else None
            return WorkerLost(f"a worker stopped responding ({reason})", shard=index, reason=reason)

        for ref, message in self._flights.snapshot():
            is_held = not living.isdisjoint(flight.shard.index for flight in message.own_flights)
            if not is_held and self._flights.pop(ref):
                self._flights.lose(message, lost)

    def recover(self, workers: int) -> None:
        """Go on; Ray replaces lost workers itself, and the engine submits fewer shards at a time."""
        self.workers = workers

    def close(self, *, cancel: bool = False) -> None:
        """Leave the cluster; one of ours is ended."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._departures.close()
        flying = self._flights.clear()
        with suppress(Exception):
            for ref in flying if self._flights.lost is None and ray.is_initialized() else ():
                ray.cancel(ref, force=True)
        if not self._joined:
            with suppress(Exception):
                ray.shutdown()
        changed = [name for name in os.environ if name.startswith("RAY_") or name in THREAD_CAPS]
        clean_up(self._order, self._environment, changed)
        if self._run_folder is not None:
            self._run_folder.remove()


_pulse: Pulse | None = None  # made with a worker process's first shard


def _run(orders: list[tuple[str, Any]], shards: tuple[Shard, ...], board: Any) -> Answers:
    global _pulse
    _pulse = _pulse or Pulse(board)
    _pulse.board = board
    (task_key, task), (state_key, state) = orders
    worker = _worker_name(_pulse.node, os.getpid())
    fetch = (task_key, lambda: ray.get(task)), (state_key, lambda: ray.get(state))
    return work_together(*fetch, shards, worker, None)


def _explain(error: BaseException) -> BaseException:
    if isinstance(error, (exceptions.ObjectLostError, exceptions.TaskCancelledError)):
        return WorkerLost("the answer was lost with its node")
    return error


def _worker_name(node: str, pid: int) -> str:
    return f"{node[:8]} process {pid}"


def _short_folder() -> RunFolder:
    """Make the folder of a cluster of ours where the names of Ray's sockets stay within what the system takes."""
    short = len(tempfile.gettempdir()) <= LONGEST_PARENT
    return RunFolder(None if short else "/tmp")  # noqa: S108 - made by mkdtemp in there


def _look(files: tuple[tuple[str, int], ...]) -> Look:
    return look(files)


def _kill_worker(pid: int) -> None:
    import psutil

    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if "ray::" in " ".join(process.cmdline()):  # the number may belong to somebody else by now
            process.kill()


def _on(node: str) -> Any:
    strategies: Any = import_module("ray.util.scheduling_strategies")
    return strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _doors() -> list[tuple[str, int]]:
    """Return where the head and this machine's own node listen: without either, no shard ever starts."""
    head, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
    own = ray.get_runtime_context().get_node_id()
    nodes = [node for node in ray.nodes() if node["NodeID"] == own]
    return [(head, int(port)), *((node["NodeManagerAddress"], node["NodeManagerPort"]) for node in nodes)]


def _opens(door: tuple[str, int]) -> bool:
    try:
        socket.create_connection(door, timeout=KNOCK_SECONDS).close()
    except OSError:
        return False
    return True


def _keep_off_stdout() -> None:
    """Let Ray's notices about dead workers not go to stdout, which is for data; the engine tells of them itself."""
    worker: Any = import_module("ray._private.worker")
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *arguments, **named: None
