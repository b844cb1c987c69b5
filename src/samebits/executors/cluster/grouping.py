"""Together: shards share messages to a cluster.

A message costs the driver 1 to 4 ms of CPU and Dask's scheduler and worker as much again, so a stage is sent in few of them.

Where workers keep what they make and see the spool, what the engine submits leaves as a *list*, which one message for each worker shares
(``claims``): each takes the next shard of it until none is left, or its time is up. Then another message leaves with what is left. So
a stage is as many messages as there are workers, and for each ``LONGEST_SECONDS`` that it lasts as many again, no worker waits for another, and nothing need be known of the pace.

Else at most ``MESSAGES_PER_WORKER`` are in the air for each worker; what the engine submits beyond that waits here, and when one lands, the next takes along an
equal share of what waits: one worker's. So groups are large while there is much to do and end as single shards, or as a last moment's work, and no worker waits
long for another's group. Nothing is grouped before the pace is known. The pace is the slowest of the last shards, by size, because a group of long
shards would keep one worker busy while the others wait.

How many travel together is a matter of speed alone: each shard has its own answer, and a lost worker costs the shard it had in
hand; the others it had are sent again. After a worker died, each shard of the stage travels alone, so that it is plain which one killed it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from samebits.core.plan import Shard
from samebits.executors.cluster.in_flight import Flight, Message, ShardGroup

__all__ = ["KEPT_PER_WORKER", "LONGEST_SECONDS", "Departures"]

MESSAGES_PER_WORKER = 2  # one in hand and one to go on with
SHORT_SECONDS = 0.02  # a few times what a message costs: short shards travel together however few wait
FEW_TOGETHER = 4  # short ones: the engine is four shards a worker ahead, so more would leave workers without
LONGEST_SECONDS = 10.0  # what a driver that is killed may lose of each message
MOST_TOGETHER = 16
EVEN_SECONDS = 0.5  # of each worker: the end of a stage that takes no longer is shared out at once, in one message for each
LIST_PER_WORKER = 40
MOST_SHARING = 8  # messages; each looks at the claims of all shards of the list
KEPT_PER_WORKER = (
    2 * LIST_PER_WORKER
)  # shards submitted for each worker where parts are small: one list in hand and one to go on with
# how long the first shard waits for others: parts that came together are taken one after the other
MOMENT_SECONDS = 0.002
MOST_MOMENTS = 10
REMEMBERED = 16


class Departures:
    """Shards waiting to be sent, given out in groups."""

    def __init__(self, workers: Callable[[], int], num_flying: Callable[[], int], spool: str) -> None:
        self._workers = workers
        self._num_flying = num_flying
        self._spool = spool  # folder for claims; empty if nothing is shared
        self._num_lists = 0
        self._waiting: deque[Flight] = deque()
        self._left: deque[ShardGroup] = deque()  # lists that a message has not finished
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
            if self._is_any():
                self._change.notify()

    def ended(self, message: Message, *, more: bool = False) -> None:
        """Note that a message has ended; what is left of a list leaves with another one, and what nobody has claimed waits again."""
        group = message.group
        with self._change:
            group.under_way -= 1
            if not group.claims or group.is_left:
                return
            if more and not self._alone:
                group.is_left = True
                self._left.append(group)
            else:
                self._give_back(group)
            if self._is_any():
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

    def batches(self) -> Iterator[list[Message]]:
        """Yield messages that are submitted at once: each submission to Dask costs about a millisecond, however many tasks it is for."""
        while True:
            with self._change:
                self._change.wait_for(lambda: self._closed or (self._is_any() and self._room() > 0))
                if self._closed:
                    return
            self._wait_for_more()
            with self._change:
                batch = self._batch()
            if batch:  # else what came in that moment has left less room
                yield batch

    def _is_any(self) -> bool:
        return bool(self._waiting or self._left)

    def _wait_for_more(self) -> None:
        """Let a moment pass if few wait; of shards that leave as a list, until no more have come in one."""
        for _ in range(MOST_MOMENTS):
            number, is_list = len(self._waiting), self._shares()
            if not number or number >= (LIST_PER_WORKER if is_list else MOST_TOGETHER) * self._workers():
                return
            time.sleep(MOMENT_SECONDS)
            if not is_list or len(self._waiting) == number:
                return

    def _shares(self) -> bool:
        """Whether what waits first leaves as a list."""
        try:
            first = self._waiting[0]
        except IndexError:
            return False
        return bool(self._spool) and first.kept and not (self._alone and first.task is self._task)

    def _batch(self) -> list[Message]:
        room, batch = self._room(), []
        while room > 0 and self._is_any():
            if self._left:
                group, number = self._left.popleft(), 1
                group.is_left = False
                if self._alone or not group.open_flights:
                    self._give_back(group)
                    continue
            else:
                group = self._list() if self._shares() else self._group()
                number = group.shared_by
            batch += [Message(group, group.marks + i + 1) for i in range(number)]
            group.marks += number
            group.under_way += number
            room -= number
        return batch

    def _give_back(self, group: ShardGroup) -> None:
        """Let the shards of a list wait again that no message will bring."""
        if not group.under_way:
            self._waiting.extendleft(reversed(group.open_flights))

    def _room(self) -> int:
        """Return how many messages may leave now: of a long stage one for each worker until the pace is known."""
        most = MESSAGES_PER_WORKER * self._workers()
        begins = len(self._waiting) > most and (self._waiting[0].task is not self._task or not self._paces)
        return (self._workers() if begins and not self._shares() else most) - self._num_flying()

    def _begin(self, task: object) -> None:
        """Forget what was known of the stage before."""
        if task is not self._task:
            self._task, self._alone, self._paces, self._last_share = task, False, (), 0

    def _list(self) -> ShardGroup:
        """Return a list for as many messages as there are workers, or shards."""
        first, workers = self._waiting[0], self._workers()
        self._begin(first.task)
        shared_by = min(workers, MOST_SHARING, len(self._waiting))
        most = min(-(-len(self._waiting) * shared_by // workers), shared_by * LIST_PER_WORKER)
        flights: list[Flight] = []
        while self._waiting and len(flights) < most:
            if self._waiting[0].task is not first.task or self._waiting[0].state is not first.state:
                break
            flights.append(self._waiting.popleft())
        if len(flights) == 1:
            return ShardGroup((first,))
        self._num_lists += 1
        return ShardGroup(
            tuple(flights), f"{self._spool}/claims-{self._num_lists}", min(shared_by, len(flights))
        )

    def _group(self) -> ShardGroup:
        first = self._waiting.popleft()
        self._begin(first.task)
        group = [first]
        if not self._paces or self._alone:
            return ShardGroup((first,))
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
        return ShardGroup(tuple(group))

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
