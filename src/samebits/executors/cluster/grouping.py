"""Together: short shards share one message.

A task of Dask costs about 8 ms of CPU in scheduler, worker and driver (measured; 3.5 ms
a shard in groups of four), so shards that take less than that are sent several at a time. How many is a matter of speed alone: each shard has its own answer, and a lost worker costs the shard it had in hand. Nothing
is grouped before the pace is known, nor after a worker died: then each shard travels alone, so that it is plain which one
killed it. The pace is the slowest of the last shards, by size, because a group of long shards would keep one worker busy
while the others wait.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator

from samebits.core.plan import Shard
from samebits.executors.cluster.in_flight import Flight

__all__ = ["Departures"]

TOGETHER_SECONDS = 0.02  # what a group may take: a few times its cost
MOST_TOGETHER = 4  # the engine is four shards a worker ahead, so larger groups would leave workers without
PATIENCE_SECONDS = 0.001  # how long a short shard waits for company
MOMENT_SECONDS = 0.002  # how long a group waits for others
REMEMBERED = 16


class Departures:
    """Shards waiting to be sent, given out in groups."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Flight | None] = queue.SimpleQueue()
        self._paces: tuple[
            float, ...
        ] = ()  # seconds for each unit of a shard; replaced, because two threads use it
        self._task: object = None
        self._alone = False

    def add(self, flight: Flight) -> None:
        """Let a shard wait."""
        self._waiting.put(flight)

    def close(self) -> None:
        """End ``groups``."""
        self._waiting.put(None)

    def learn(self, flight: Flight, seconds: float) -> None:
        """Note how long a shard took."""
        if flight.task is self._task:
            self._paces = (*self._paces[1 - REMEMBERED :], seconds / _size(flight.shard))

    def part(self) -> None:
        """Send the shards of this stage one by one from now on."""
        self._alone = True

    def groups(self) -> Iterator[tuple[Flight, ...]]:
        """Yield what is to be sent together, as it comes."""
        flight = self._waiting.get()
        while flight is not None:
            if flight.task is not self._task:
                self._task, self._alone, self._paces = flight.task, False, ()
            group, flight = self._company(flight)
            yield group
            flight = flight or self._waiting.get()

    def batches(self) -> Iterator[list[tuple[Flight, ...]]]:
        """Yield groups that are submitted at once: each submission costs this process about a millisecond, however many tasks it is for."""
        batch = []
        for group in self.groups():
            batch.append(group)
            if self._waiting.empty():
                time.sleep(MOMENT_SECONDS)  # parts that came together are taken one after the other
            if self._waiting.empty():
                yield batch
                batch = []
        if batch:
            yield batch

    def _company(self, first: Flight) -> tuple[tuple[Flight, ...], Flight | None]:
        """Return a group and the flight that came too late for it, if one did."""
        group, room = [first], self._room() - _size(first.shard)
        until = time.monotonic() + PATIENCE_SECONDS
        while len(group) < MOST_TOGETHER and room > 0:
            try:
                flight = self._waiting.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if flight is None:
                self.close()  # the end is still to come
                break
            room -= _size(flight.shard)
            if room < 0 or (flight.task, flight.state) != (first.task, first.state):
                return tuple(group), flight
            group.append(flight)
        return tuple(group), None

    def _room(self) -> float:
        """Return how many units may travel together."""
        paces = self._paces
        return TOGETHER_SECONDS / max(*paces, 1e-9) if paces and not self._alone else 0.0


def _size(shard: Shard) -> int:
    return max(1, shard.stop - shard.start)
