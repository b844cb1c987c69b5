"""Flights: what was sent to a cluster and has not come back. Each ends once, whichever thread hears of it first.

Dask and Ray answer in threads of their own, and a watch thread may have to end everything at the same moment. The futures
in here are what the engine waits for: an exception that got away would make it wait for ever, so all of them end in here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Handle, Outcome, Task
from samebits.errors import ClusterLost, SamebitsError, WorkerLost
from samebits.executors.cluster.answers import Answers
from samebits.executors.cluster.claims import Claims, claimed_by
from samebits.executors.cluster.workers import WorkerOrders, open_answer, packed_state

if TYPE_CHECKING:
    from samebits.executors.cluster.grouping import Departures

__all__ = ["Flight", "Flights", "Message", "ShardGroup"]


@dataclass(frozen=True, slots=True, eq=False)
class Flight:
    """One shard on its way: the task and the state as the cluster knows them, and the future the engine has.

    Attributes:
        kept: Its part is small and in no hurry (``Handle``).
    """

    shard: Shard
    task: Any
    state: Any
    result: Future[Outcome] = field(default_factory=Future)
    kept: bool = False

    def end(self, outcome: Outcome | BaseException) -> None:
        """End it, unless somebody else has: two messages that share a list may both have run a shard."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.result.set_exception(outcome)
            else:
                self.result.set_result(outcome)


@dataclass(slots=True, eq=False)
class ShardGroup:
    """Flights that leave together: in a message of their own, or as a list that several messages share.

    Attributes:
        flights: What they are.
        claims: File in which messages claim the shards of a list; empty if there is one message.
        shared_by: How many messages leave with a list at first.
        marks: How many have left with it so far.
        under_way: How many of them have not ended.
        is_left: Another message will leave with it, because one that has ended left some.
    """

    flights: tuple[Flight, ...]
    claims: str = ""
    shared_by: int = 1
    marks: int = 0
    under_way: int = 0
    is_left: bool = False

    @property
    def open_flights(self) -> list[Flight]:
        """Those that have not ended."""
        return [flight for flight in self.flights if not flight.result.done()]


class Message(NamedTuple):
    """What the cluster has under one key.

    Attributes:
        group: What is in it.
        mark: Its number among those that share the list.
    """

    group: ShardGroup
    mark: int

    @property
    def shards(self) -> tuple[Shard, ...]:
        """What it says there is to do."""
        return tuple(flight.shard for flight in self.group.flights)

    def claims(self, seconds: float) -> Claims | None:
        """What it is told of the list it shares."""
        group = self.group
        return Claims(group.claims, self.mark, group.shared_by, seconds) if group.claims else None

    @property
    def own_flights(self) -> list[Flight]:
        """Those that have not ended and are in nobody else's hands: all, or those that it has claimed of a list."""
        if not self.group.claims:
            return self.group.open_flights
        mine = claimed_by(self.group.claims, self.mark)
        flights = enumerate(self.group.flights)
        return [flight for place, flight in flights if place in mine and not flight.result.done()]


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
        departures: Departures,
    ) -> None:
        self._departures = departures
        self._engine = engine
        self._where = address or "this machine"
        self._order = order
        self._put = put
        self._sent: tuple[Task, Any] | None = None
        self._lock = threading.Lock()
        self._flying: dict[Any, Message] = {}
        self.lost: ClusterLost | None = None

    def take_off(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Send a shard on its way; whatever goes wrong shows in the future, not here."""
        flight = Flight(shard, None, handle.value)
        try:
            if self.lost is not None:
                raise self.lost
            # The task travels once per stage, with the orders.
            if self._sent is None or self._sent[0] is not task:
                self._sent = (task, self._put(packed_state((self._order, task))))
            flight = Flight(shard, self._sent[1], handle.value, flight.result, handle.kept)
            self._departures.add(flight)
        except SamebitsError as error:
            flight.end(error)
        except Exception as error:
            flight.end(self._refusal(error))
        return flight.result

    def refuse(self, messages: list[Message], error: Exception) -> None:
        """End what did not begin."""
        for message in messages:
            for flight in message.group.open_flights:
                flight.end(self._refusal(error))
            self._departures.ended(message)

    def _refusal(self, error: Exception) -> SamebitsError:
        return self.lost or WorkerLost(f"{self._engine} did not take the shard: {error}")

    def put(self, key: Any, message: Message) -> None:
        """Note what is in the air under a key of the cluster; if the cluster was lost meanwhile, it has ended."""
        with self._lock:
            if self.lost is None:
                self._flying[key] = message
                return
        for flight in message.group.flights:
            flight.end(self.lost)

    def pop(self, key: Any) -> Message | None:
        """Return what was in the air under a key; None if it has ended already."""
        with self._lock:
            message = self._flying.pop(key, None)
        self._departures.landed()
        return message

    def __len__(self) -> int:
        """Return how many keys are in the air."""
        return len(self._flying)

    def snapshot(self) -> list[tuple[Any, Message]]:
        """Return what is in the air now, by key."""
        with self._lock:
            return list(self._flying.items())

    def clear(self) -> list[Any]:
        """Forget everything; return the keys."""
        with self._lock:
            keys = list(self._flying)
            self._flying.clear()
        return keys

    def land(self, message: Message, answers: Answers) -> None:
        """End flights with their answers; shards of a list that were not claimed are left to others."""
        for place, data in answers.found.items():
            flight = message.group.flights[place]
            try:
                outcome = open_answer(data, flight.shard)
            except SamebitsError as error:
                flight.end(error)
                continue
            flight.end(outcome)
            if isinstance(outcome, Done):
                self._departures.learn(flight, outcome.seconds)
        self._departures.ended(message, more=answers.more)

    def lose(self, message: Message, reason: Callable[[Flight], BaseException]) -> None:
        """End the flights of a message that brings no answers; what others may still claim goes on."""
        for flight in message.own_flights:
            flight.end(self.lost or reason(flight))
        self._departures.ended(message)

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
            messages = list(self._flying.values())
            self._flying.clear()
        for message in messages:
            for flight in message.group.flights:
                flight.end(self.lost)
        self._departures.landed()
