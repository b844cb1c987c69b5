"""Together: shards share one message to a cluster.

A message costs the driver 1 to 3 ms of CPU and Dask's scheduler and worker as much again, so a stage is sent in few of them. At most
``MESSAGES_PER_WORKER`` are in the air for each worker; what the engine submits beyond that waits here, and when one lands, the next takes along an
equal share of what waits: one worker's. So groups are large while there is much to do and end as single shards, or as a last moment's work, and no worker waits
long for another's group. How many travel together is a matter of speed alone: each shard has its own answer, and a lost worker costs the shard it had in
hand; the others of its group are sent again. Nothing is grouped before the pace is known, nor after a worker died: then each shard travels
alone, so that it is plain which one killed it. The pace is the slowest of the last shards, by size, because a group of long
shards would keep one worker busy while the others wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from samebits.core.plan import Shard
from samebits.executors.cluster.in_flight import Flight

__all__ = ["KEPT_PER_WORKER", "Departures"]

MESSAGES_PER_WORKER = 2  # one in hand and one to go on with
SHORT_SECONDS = 0.02  # a few times what a message costs: short shards travel together however few wait
FEW_TOGETHER = 4  # short ones: the engine is four shards a worker ahead, so more would leave workers without
LONGEST_SECONDS = 10.0  # what a driver that is killed may lose of each message
MOST_TOGETHER = 16
EVEN_SECONDS = 0.5  # of each worker: the end of a stage that takes no longer is shared out at once, in one message for each
KEPT_PER_WORKER = 48  # shards submitted for each worker where parts are small: enough for two large messages and one waiting
MOMENT_SECONDS = (
    0.002  # how long the first shard waits for others: parts that came together are taken one after the other
)
REMEMBERED = 16


class Departures:
    """Shards waiting to be sent, given out in groups."""

    def __init__(self, workers: Callable[[], int], num_flying: Callable[[], int]) -> None:
        self._workers = workers
        self._num_flying = num_flying
        self._waiting: deque[Flight] = deque()
        self._change = threading.Condition()
        self._closed = False
        # seconds for each unit of a shard; replaced, because two threads use it
        self._paces: tuple[float, ...] = ()
        self._task: object = None
        self._alone = False
        self._last_share = 0  # of a worker, once the end of the stage is shared out

    def add(self, flight: Flight) -> None:
        """Let a shard wait."""
        with self._change:
            self._waiting.append(flight)
            if self._room() > 0:  # else who waits would wake up for nothing
                self._change.notify()

    def landed(self) -> None:
        """Note that there may be room in the air."""
        with self._change:
            if self._waiting:
                self._change.notify()

    def close(self) -> None:
        """End ``batches``."""
        with self._change:
            self._closed = True
            self._change.notify()

    def learn(self, flight: Flight, seconds: float) -> None:
        """Note how long a shard took."""
        if flight.task is self._task:
            self._paces = (*self._paces[1 - REMEMBERED :], seconds / _size(flight.shard))

    def part(self) -> None:
        """Send the shards of this stage one by one from now on."""
        self._alone = True

    def batches(self) -> Iterator[list[tuple[Flight, ...]]]:
        """Yield groups that are submitted at once: each submission to Dask costs about a millisecond, however many tasks it is for."""
        while True:
            with self._change:
                self._change.wait_for(lambda: self._closed or (self._waiting and self._room() > 0))
                if self._closed:
                    return
                is_much = len(self._waiting) >= MOST_TOGETHER * self._workers()
            if not is_much:
                time.sleep(MOMENT_SECONDS)
            with self._change:
                room = self._room()
                batch = [self._group() for _ in range(room) if self._waiting]
            if batch:  # else what came in that moment has left less room
                yield batch

    def _room(self) -> int:
        """Return how many messages may leave now: of a long stage one for each worker until the pace is known."""
        most = MESSAGES_PER_WORKER * self._workers()
        begins = len(self._waiting) > most and (self._waiting[0].task is not self._task or not self._paces)
        return (self._workers() if begins else most) - self._num_flying()

    def _group(self) -> tuple[Flight, ...]:
        first = self._waiting.popleft()
        if first.task is not self._task:
            self._task, self._alone, self._paces, self._last_share = first.task, False, (), 0
        group = [first]
        if not self._paces or self._alone:
            return (first,)
        pace, size = max(self._paces), _size(first.shard)
        fair = self._fair_share(pace, size)
        while self._waiting:
            flight = self._waiting[0]
            size += _size(flight.shard)
            is_short = len(group) < FEW_TOGETHER and pace * size <= SHORT_SECONDS
            is_fair = len(group) < min(fair, MOST_TOGETHER) and pace * size <= LONGEST_SECONDS
            if not (is_short or is_fair) or (flight.task, flight.state) != (first.task, first.state):
                break
            group.append(self._waiting.popleft())
        return tuple(group)

    def _fair_share(self, pace: float, size: int) -> int:
        """Return how many of a shard of some size and those that wait may leave together."""
        number, workers = len(self._waiting) + 1, self._workers()
        if number <= MOST_TOGETHER * workers:  # else it is not worth adding up
            left = size + sum(_size(flight.shard) for flight in self._waiting)
            if pace * left <= EVEN_SECONDS * workers:
                self._last_share = max(self._last_share, -(-number // workers))
                return self._last_share
        return number // workers


def _size(shard: Shard) -> int:
    return max(1, shard.stop - shard.start)
