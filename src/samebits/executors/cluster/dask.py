"""Tasks on a Dask cluster: one at an address, or one started here with worker processes of its own.

Dask keeps the order of nothing and repeats what it likes; the engine does not mind. Its own retries are off (a cluster
at an address may allow some: they repeat a pure function, so they cost time alone). Task and state are copied to all
workers once and fetched by newcomers from their peers; if every copy was lost, the next shard scatters them again.

When a worker dies, Dask fails everything that was queued on it. Workers write down what they have in hand (``hands``), so
that only those shards count as lost with it; the others only waited. Where no folder is shared, those submitted first, as
many as the worker has threads, are taken to have been in its hands. Several shards share a task of Dask (``grouping``).

A watch thread (``dask_watch``) looks for workers and schedulers that show no sign of life. Nothing is waited for without end.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from itertools import chain, count
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Outcome, Task
from samebits.errors import ClusterLost, MissingExtra, SamebitsError, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.cluster.answers import Answers, take_answers
from samebits.executors.cluster.dask_task import run_message
from samebits.executors.cluster.dask_values import DaskValue, ask, scatter, tell_when_done
from samebits.executors.cluster.dask_watch import CONNECT_SECONDS, START_SECONDS, watch, workers_of
from samebits.executors.cluster.grouping import KEPT_PER_WORKER, LONGEST_SECONDS, Departures
from samebits.executors.cluster.in_flight import Flight, Flights, Message
from samebits.executors.cluster.in_hand import shards_in_hand
from samebits.executors.cluster.workers import (
    Look,
    check_looks,
    clean_up,
    look,
    make_order,
    packed_state,
)
from samebits.executors.run_folder import RunFolder
from samebits.machine.caps import THREAD_CAPS
from samebits.machine.signals import interrupts_blocked, kill

try:
    dask: Any = import_module("dask")  # Any: its classes are typed, their constructors are not
    distributed: Any = import_module("distributed")
except ImportError as error:
    raise MissingExtra("distributed", extra="dask", needed_for="-x dask") from error

__all__ = ["DaskExecutor"]

# messages to the scheduler are gathered for so long; Dask's 10 ms are half a group's way
SUBMIT_SECONDS = 0.001
# how long an answer waits for company: a request costs the driver as much whatever it is for
COLLECT_SECONDS = 1.0
# a worker of ours that died with an answer is knocked at for so long; then the scheduler, in this process, is asked for it
FETCH_SECONDS = 5.0
# the failures of one dead worker come in one message; this is long enough to take them together
SETTLE_SECONDS = 0.05
FREE_LOSSES = 10  # how often in a row, without a result, the state may be lost before shards are blamed
LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")
VARIABLES = ("__DASK_PARENT_PID", "PYTHONHASHSEED")  # what Dask leaves in the environment of this process
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # the engine counts losses itself
    "distributed.worker.profile.enabled": False,  # a thread that looks at every stack, 100 times a second
    "distributed.scheduler.active-memory-manager.start": False,  # it would drop copies of the state
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",  # half of what an idle driver costs
    "distributed.nanny.pre-spawn-environ": {},  # they would stay in the environment of this process
    "distributed.client.scheduler-info-interval": "60s",  # the client asks for what nobody here looks at
    "distributed.client.heartbeat": "60s",  # the scheduler waits for none
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS:g}s",
}


class DaskExecutor:
    """Shards as tasks of Dask."""

    name = "dask"
    kept_per_worker = KEPT_PER_WORKER

    def __init__(self, options: ExecutorOptions) -> None:
        self._options = options
        self._environment = dict(os.environ)
        self._levels = {name: logging.getLogger(name).level for name in LOGGERS}
        for name in LOGGERS:  # what they have to say is said by the errors of this run
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._run_folder = None if options.address else RunFolder()
        self._cluster: Any = None
        self._client: Any = None
        self._keys = count(1)  # two threads take from it
        self._futures: dict[str, Any] = {}
        self._landed: list[Any] = []  # let go with the next message, which takes that along
        self._bare_losses = 0
        self._refusing_since: float | None = None
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._order = make_order(options, self._run_folder.path if self._run_folder else None)
        self._num_started = self._num_ended = 0  # messages; of those that ended, answers may not be here yet
        self._departures = Departures(lambda: self.workers, self._num_flying, self._order.spool)
        self._flights = Flights("Dask", options.address, self._order, self._published, self._departures)
        try:
            self._connect()
            self.workers = options.workers or self._num_threads()
            self._check()
        except BaseException:
            self.close(cancel=True)
            raise
        for target in (self._send, self._collect, self._watch):
            threading.Thread(target=target, name=f"samebits-dask-{target.__name__}", daemon=True).start()

    def _connect(self) -> None:
        address = self._options.address
        scratch = {"temporary-directory": str(self._run_folder.path)} if self._run_folder else {}
        # threads and processes made here take no Ctrl-C
        with dask.config.set({**CONFIG, **scratch}), interrupts_blocked():
            try:
                if not address:
                    self._cluster = self._start_cluster()
                self._client = distributed.Client(address or self._cluster, timeout=CONNECT_SECONDS)
                self._client.scheduler_comm.interval = SUBMIT_SECONDS
                if self._cluster is not None:
                    self._client.rpc.timeout = FETCH_SECONDS
            except (OSError, TimeoutError, ValueError, RuntimeError) as error:
                hint = "dask scheduler starts one and prints its address; docs/guides/cluster.md shows how"
                raise ClusterLost(
                    f"no Dask scheduler answers at {address or 'this machine'}: {error}", hint=hint
                ) from error

    def _start_cluster(self) -> Any:
        assert self._run_folder is not None
        return distributed.LocalCluster(
            n_workers=self._options.workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # Dask always opens a port for it; this one takes no fixed number
            memory_limit=0,  # how many workers fit is decided before they start
            local_directory=str(self._run_folder.path),
            silence_logs=logging.CRITICAL,
            env=THREAD_CAPS,
        )

    def _num_threads(self) -> int:
        workers = workers_of(self._client).values()
        if not workers:
            raise ClusterLost(
                f"the Dask cluster at {self._options.address} has no workers",
                hint="dask worker ADDRESS adds one",
            )
        return sum(int(worker["nthreads"]) for worker in workers)

    def _check(self) -> None:
        """Look at every worker before the first shard."""
        try:
            run = (self._client, self._client.run)
            looks: dict[str, Look] = ask(*run, look, self._options.files, seconds=START_SECONDS)
        except Exception as error:  # whatever a worker without samebits, or with another one, answers
            raise ClusterLost(
                f"a worker of the Dask cluster cannot run samebits: {type(error).__name__}: {error}",
                hint="install samebits on every worker, in the same version",
            ) from error
        check_looks(self._order, looks)

    def publish(self, state: Any) -> Handle:
        """Pickle the state now; it is scattered with the first shard."""
        return Handle(value=self._published(packed_state(state)))

    def _published(self, data: bytes) -> DaskValue:
        return DaskValue(f"{self._order.token}-{next(self._keys)}", data)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Queue the shard; whatever goes wrong shows in the future, not here."""
        return self._flights.take_off(task, shard, handle)

    def _send(self) -> None:
        for batch in self._departures.batches():
            try:
                if self._flights.lost is not None:
                    raise self._flights.lost
                self._start(batch)
                self._refusing_since = None
            except Exception as error:
                self._refuse(batch, error)

    def _refuse(self, batch: list[Message], error: Exception) -> None:
        """Let the engine try these shards again, but not for ever."""
        now = time.monotonic()
        self._refusing_since = self._refusing_since or now
        if now - self._refusing_since > max(self._options.stall_timeout, START_SECONDS):
            self._flights.give_up(f"it takes no shards ({type(error).__name__}: {error})")
        self._flights.refuse(batch, error)

    def _start(self, batch: list[Message]) -> None:
        """Submit messages, each a task of Dask, at once."""
        calls = []
        for message in batch:
            first = message.group.flights[0]
            sent = (scatter(self._client, first.task), scatter(self._client, first.state))
            claims = message.claims(LONGEST_SECONDS)
            calls.append((first.task.key, first.state.key, *sent, message.shards, claims))
        keys = [f"samebits-{self._order.token}-{next(self._keys)}" for _ in batch]
        futures = self._client.map(
            *(run_message, *map(list, zip(*calls, strict=True))),
            key=keys,
            retries=0,
            pure=False,
            fifo_timeout=0,  # what is submitted first runs first, however close together
        )
        self._landed = []
        for key, message, future in zip(keys, batch, futures, strict=True):
            self._futures[key] = future
            self._flights.put(key, message)
        self._num_started += len(futures)
        self._client.loop.add_callback(tell_when_done, futures, self._ended)

    def _ended(self, future: Any) -> None:
        """Runs in the client's event loop: the worker can have the next message, though this one's answer may wait for company."""
        self._num_ended += 1
        answers = take_answers(self._order.spool, future.key) if future.status == "finished" else None
        if answers is not None:
            self._landed.append(self._futures.pop(future.key, None))
            self._end(future, answers)
            return
        self._finished.put(future)
        self._departures.landed()

    def _num_flying(self) -> int:
        """Return how many messages workers have; none, if they are all that is left of a lost cluster."""
        return self._num_started - self._num_ended if self._flights.lost is None else 0

    def _collect(self) -> None:
        """Bring answers home, several in one request: a request costs this process as much as sending a shard."""
        while (future := self._finished.get()) is not None:
            batch = [future, *self._company()]
            if any(future.status == "error" for future in batch):
                time.sleep(SETTLE_SECONDS)
                while not self._finished.empty():
                    batch.append(self._finished.get())
            closing = None in batch
            try:
                self._land([future for future in batch if future is not None])
            except Exception as error:  # nobody else would end these flights
                self._flights.give_up(f"its answers cannot be read ({type(error).__name__}: {error})")
            if closing:
                return

    def _company(self) -> Iterator[Any]:
        """Yield what comes soon, up to half of what is in the air: the other half keeps the workers busy meanwhile."""
        number, until = 1, time.monotonic() + COLLECT_SECONDS
        while not self._finished.empty() or 2 * number < len(self._futures):
            try:
                future = self._finished.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return
            yield future
            if future is None or future.status == "error":
                return
            number += 1

    def _land(self, batch: list[Any]) -> None:
        """End what is in these futures; what one of them is, is asked once: Dask may compute a lost answer again meanwhile."""
        statuses = [(future, future.status) for future in batch]
        self._bring_home([future for future, status in statuses if status == "finished"])
        lost: dict[Any, dict[int, Message]] = {}
        for future, status in statuses:
            self._futures.pop(future.key, None)
            if status == "finished":
                continue
            error = future.exception(timeout=START_SECONDS) if status == "error" else None
            if isinstance(error, distributed.KilledWorker):
                messages = lost.setdefault((error.last_worker.address, error.last_worker.nthreads), {})
                if message := self._flights.pop(future.key):
                    messages[int(future.key.rpartition("-")[2])] = message
            else:
                self._end(future, None)
        for (worker, threads), messages in lost.items():
            self._blame(worker, threads, [messages[number] for number in sorted(messages)])

    def _bring_home(self, finished: list[Any]) -> None:
        """Fetch answers in one request and land them."""
        try:
            gather = (self._client, self._client.gather)
            answers = ask(*gather, finished, direct=self._cluster is not None, seconds=START_SECONDS)
        except Exception:  # a worker died with an answer: one by one, so that it costs the others nothing
            answers = [None] * len(finished)
        for future, answer in zip(finished, answers, strict=True):
            self._end(future, answer)

    def _blame(self, worker: str, threads: int, messages: list[Message]) -> None:
        """Tell the shards a dead worker had in hand from those that only waited for it; messages are as submitted."""
        self._departures.part()
        hands = shards_in_hand(self._order.spool, lambda address: address == worker)
        if hands is None:
            first = (message.own_flights for message in messages[: max(1, threads)])
            hands = {flight.shard.index for flight in chain.from_iterable(first)}
        reason = f"the worker {worker} died"

        def lost(flight: Flight) -> WorkerLost:
            index = flight.shard.index if flight.shard.index in hands else None
            return WorkerLost(reason, shard=index, reason=reason)

        for message in messages:
            self._flights.lose(message, lost)

    def _end(self, future: Any, answers: Answers | None) -> None:
        """Land a message; answers that are not here are fetched, and Dask may be computing them a second time."""
        message = self._flights.pop(future.key)
        if message is None:
            return
        try:
            if answers is None:
                answers = future.result(timeout=START_SECONDS)
        except BaseException as error:
            why = error
            if not message.own_flights:  # of a list: what it was sent with has to be sent again all the same
                self._why_gone(message.group.flights[0], why)
            self._flights.lose(message, lambda flight: self._why_gone(flight, why))
            return
        self._bare_losses = 0
        self._flights.land(message, answers)

    def _why_gone(self, flight: Flight, error: BaseException) -> SamebitsError:
        """Explain a shard that Dask has cancelled or forgotten: the scheduler went, or all copies of its state."""
        if self._client.status != "running":
            self._flights.give_up("the connection to the scheduler broke")
        if self._flights.lost is not None:
            return self._flights.lost
        self._departures.part()
        if any(published.future is not None for published in (flight.task, flight.state)):
            self._bare_losses += 1  # the first to hear of it
        for published in (flight.task, flight.state):
            published.future = None
        blamed = flight.shard.index in self._hands_of_the_dead() or self._bare_losses > FREE_LOSSES
        reason = "all workers died" if blamed else f"{type(error).__name__}: {error}"
        index = flight.shard.index if blamed else None
        return WorkerLost("the state of this shard was lost", shard=index, reason=reason)

    def _hands_of_the_dead(self) -> set[int]:
        try:
            alive = workers_of(self._client)
        except Exception:
            return set()
        return shards_in_hand(self._order.spool, lambda address: address not in alive) or set()

    def _watch(self) -> None:
        watch(self._client, self._cluster, self._flights, self._closed, self._options.stall_timeout)

    def recover(self, workers: int) -> None:
        """Go on with fewer workers; Dask replaces lost ones itself."""
        if workers < self.workers and self._cluster is not None:
            self._cluster.scale(workers)
        self.workers = workers

    def close(self, *, cancel: bool = False) -> None:
        """Leave the cluster; one of ours is ended."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._departures.close()
        self._finished.put(None)
        with suppress(Exception):
            if self._client is not None and cancel and self._flights.lost is None:
                futures = list(dict(self._futures).values())
                ask(self._client, self._client.cancel, futures, force=True, seconds=CONNECT_SECONDS)
        if self._cluster is not None:  # killed: a polite goodbye waits for stopped ones
            for nanny in list(self._cluster.workers.values()):
                nanny.close_gracefully()  # it starts no other
                if nanny.process is not None and nanny.process.pid is not None:
                    kill(nanny.process.pid)
        for part in (self._client, self._cluster):
            with suppress(Exception):
                if part is not None:
                    part.close(timeout=5)
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)
        clean_up(self._order, self._environment, VARIABLES)
        if self._run_folder is not None:
            self._run_folder.remove()
