"""A barrier that blocks and never spins, on eventfds: ceil(log2 W) rounds, each worker wakes one and waits for one.

In round r worker w wakes ``w + 2**r`` and waits for ``w - 2**r`` (both modulo W). Every slot has one sender, so a counting
eventfd needs no phases: a worker that is a round ahead leaves its count there. Waits wake up every 0.2 s to look whether the
parent still lives. Spinning was 10 times slower with more workers than cores, and steals the core the others compute on.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Sequence

__all__ = ["Barrier", "Gate", "make_slots", "num_rounds"]

POLL_MILLISECONDS = 200


def num_rounds(workers: int) -> int:
    """Return how often a worker waits at one barrier.

    >>> [num_rounds(w) for w in (1, 2, 3, 4, 5, 16)]
    [0, 1, 2, 2, 3, 4]
    """
    return (workers - 1).bit_length()


def make_slots(workers: int) -> list[list[int]]:
    """Return the descriptors of a new barrier: for each worker, one a round."""
    return [
        [os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC) for _ in range(num_rounds(workers))]
        for _ in range(workers)
    ]


class Gate:
    """One eventfd: ``open`` lets one ``wait`` through."""

    def __init__(self, descriptor: int, alive: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self._alive = alive
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def open(self) -> None:
        """Let one wait through."""
        os.eventfd_write(self.descriptor, 1)

    def wait(self) -> None:
        """Wait to be let through; ``alive`` is called meanwhile and may end the process."""
        while not self._poll.poll(POLL_MILLISECONDS):
            self._alive()
        os.eventfd_read(self.descriptor)


class Barrier:
    """Nobody leaves ``wait`` before all have entered it."""

    def __init__(self, slots: Sequence[Sequence[int]], worker: int, alive: Callable[[], None]) -> None:
        workers = len(slots)
        self._rounds = [
            (Gate(slots[(worker + (1 << r)) % workers][r], alive), Gate(slots[worker][r], alive))
            for r in range(num_rounds(workers))
        ]

    def wait(self) -> None:
        """Meet the others."""
        for theirs, ours in self._rounds:
            theirs.open()
            ours.wait()
