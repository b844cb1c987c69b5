"""Flights: what was sent to a cluster and has not come back. Each ends once, whichever thread hears of it first.

Dask and Ray answer in threads of their own, and a watch thread may have to end everything at the same moment. The futures
in here are what the engine waits for: an exception that got away would make it wait for ever, so all of them end in here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Outcome, Task
from samebits.errors import ClusterLost, SamebitsError, WorkerLost
from samebits.executors.cluster.workers import WorkerOrders, open_answer, packed_state

__all__ = ["Flight", "Flights"]


@dataclass(frozen=True, slots=True, eq=False)
class Flight:
    """One shard on its way: the task and the state as the cluster knows them, and the future the engine has."""

    shard: Shard
    task: Any
    state: Any
    result: Future[Outcome] = field(default_factory=Future)


class Flights:
    """All flights of one executor.

    Attributes:
        lost: Set when the cluster is; whatever is submitted afterwards, or waits to be sent, ends with it.
    """

    def __init__(
        self,
        engine: str,
        address: str,
        order: WorkerOrders,
        put: Callable[[bytes], Any],
        landed: Callable[[], None],
    ) -> None:
        self._landed = landed
        self._engine = engine
        self._where = address or "this machine"
        self._order = order
        self._put = put
        self._sent: tuple[Task, Any] | None = None
        self._lock = threading.Lock()
        self._flying: dict[Any, tuple[Flight, ...]] = {}
        self.lost: ClusterLost | None = None

    def take_off(
        self, task: Task, shard: Shard, state: Any, start: Callable[[Flight], None]
    ) -> Future[Outcome]:
        """Send a shard on its way; whatever goes wrong shows in the future, not here."""
        flight = Flight(shard, None, state)
        try:
            if self.lost is not None:
                raise self.lost
            # The task travels once per stage, with the orders.
            if self._sent is None or self._sent[0] is not task:
                self._sent = (task, self._put(packed_state((self._order, task))))
            flight = Flight(shard, self._sent[1], state, flight.result)
            start(flight)
        except SamebitsError as error:
            flight.result.set_exception(error)
        except Exception as error:
            self.refused(flight, error)
        return flight.result

    def refused(self, flight: Flight, error: Exception) -> None:
        """End a flight that did not begin."""
        flight.result.set_exception(
            self.lost or WorkerLost(f"{self._engine} did not take the shard: {error}")
        )

    def put(self, key: Any, flights: tuple[Flight, ...]) -> None:
        """Note what is in the air under a key of the cluster; if the cluster was lost meanwhile, it has ended."""
        with self._lock:
            if self.lost is None:
                self._flying[key] = flights
                return
        for flight in flights:
            flight.result.set_exception(self.lost)

    def pop(self, key: Any) -> tuple[Flight, ...]:
        """Return what was in the air under a key; nothing if it has ended already."""
        with self._lock:
            flights = self._flying.pop(key, ())
        self._landed()
        return flights

    def __len__(self) -> int:
        """Return how many keys are in the air."""
        return len(self._flying)

    def snapshot(self) -> list[tuple[Any, tuple[Flight, ...]]]:
        """Return what is in the air now, by key."""
        with self._lock:
            return list(self._flying.items())

    def clear(self) -> list[Any]:
        """Forget everything; return the keys."""
        with self._lock:
            keys = list(self._flying)
            self._flying.clear()
        return keys

    def land(
        self,
        group: tuple[Flight, ...],
        answers: Sequence[bytes] | BaseException,
        explain: Callable[[Flight, BaseException], BaseException],
    ) -> list[tuple[Flight, Done]]:
        """End flights with their answers, or with the reason why there are none; return what was done."""
        landed = []
        for number, flight in enumerate(group):
            try:
                if isinstance(answers, BaseException):
                    raise answers
                outcome = open_answer(answers[number], flight.shard)
            except SamebitsError as error:
                flight.result.set_exception(error)
            except BaseException as error:
                flight.result.set_exception(self.lost or explain(flight, error))
            else:
                flight.result.set_result(outcome)
                if isinstance(outcome, Done):
                    landed.append((flight, outcome))
        return landed

    def cluster_lost(self, what: str) -> ClusterLost:
        """Return the error of a lost cluster."""
        return ClusterLost(
            f"the {self._engine} cluster at {self._where} is lost: {what}",
            hint="start it again; finished parts are kept, and the same command continues",
        )

    def give_up(self, what: str) -> None:
        """End everything in the air, and everything that will be submitted."""
        with self._lock:
            self.lost = self.lost or self.cluster_lost(what)
            flying = [flight for flights in self._flying.values() for flight in flights]
            self._flying.clear()
        for flight in flying:
            flight.result.set_exception(self.lost)
        self._landed()
