"""Where workers meet in a step, and what everybody knows afterwards: the one seam between one machine and several.

A step is the same code everywhere. What differs is how a worker comes to see what another has computed. On one machine memory
is shared, so meeting is enough (``SharedMeeting``, a barrier), and who is done with his shards takes over some of the others': a
core that is slow for a while computes fewer of them instead of being waited for. Between ranks of torchrun the elements named by
``Share`` are sent to those who need them (``cluster.ClusterMeeting``), and each rank computes its own shards and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Protocol

from samebits.kernels.lockstep.steps import take
from samebits.lockstep.exchange.barrier import Barrier
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.exchange.tree import Split, merges, turns_of
from samebits.lockstep.worker.assignment import Order
from samebits.lockstep.worker.messages import WorkerFailed

__all__ = ["Elsewhere", "Meeting", "Share", "SharedMeeting"]


class Share(Enum):
    """What a meeting is about; ``moves`` says which elements of which arrays that is."""

    NOTHING = 0  # nobody goes on before all are here, where memory is shared
    START = 1  # parameters, moments and average, from worker 0
    GRADIENTS = 2  # the roots of each worker's subtrees, to those who own a slice; losses, failures and wishes, to all
    NORMS = 3  # squares of chunks, to all; the mean gradient, to those who update that part of the parameters
    PARAMETERS = 4  # what each worker updated, to all
    VALIDATION = 5  # sums and weights of validation shards, to all
    SHARDS = 6  # loss and flag of each shard, to all
    CHECKPOINT = 7  # moments and average, to worker 0
    END = 8  # moments and average, to all


class Elsewhere(Exception):
    """This worker cannot go on because of what happened in another rank."""

    def __init__(self, failed: WorkerFailed) -> None:
        super().__init__(failed.summary)
        self.failed = failed


class Meeting(Protocol):
    """How one worker meets the others."""

    def begin(self, order: Order) -> Order:
        """Meet for the first time; return the order with the beginning that all agree on."""
        ...

    def shards(self, num_shards: int) -> Iterator[int]:
        """Yield the shards of a step that this worker is to compute, the next one when the last is done."""
        ...

    def split(self, num_shards: int) -> Split:
        """Say which merges of the tree this worker does at once, and which after the gradients were shared."""
        ...

    def meet(self, what: Share) -> None:
        """Return when all have come, and when this worker sees what the meeting is about."""
        ...

    def ask(self, value: int) -> list[int]:
        """Return every worker's value, in the order of workers."""
        ...

    def gather(self, failure: WorkerFailed | None) -> list[WorkerFailed]:
        """Return the failures that this worker has to report to its parent."""
        ...

    def fail(self, failure: WorkerFailed) -> None:
        """Tell the others why this worker does not come any more, where its parent cannot."""
        ...

    def look(self) -> None:
        """See whether the others are still there; called now and then by a thread, and ends the process if not."""
        ...

    def leave(self) -> None:
        """Part after the last meeting."""
        ...


class SharedMeeting:
    """All workers have one parent and one memory."""

    def __init__(self, barrier: Barrier, state: State, worker: int, workers: int) -> None:
        self._barrier, self._state = barrier, state
        self._worker, self._workers = worker, workers

    def begin(self, order: Order) -> Order:
        """Return the order as it is: one parent gave it to all."""
        return order

    def shards(self, num_shards: int) -> Iterator[int]:
        """Take the own ones in order, whose rows are still in this core's cache, then what others have not taken.

        A worker stops at a shard that raises. The lowest of those is always reached: nothing before it stops its owner.
        """
        for shard in turns_of(self._worker, self._workers, num_shards):
            if take(self._state.taken, shard):
                yield shard

    def split(self, num_shards: int) -> Split:
        """Leave all merges for later: who has computed what is known to nobody, and every row can be read."""
        return Split({}, merges(num_shards))

    def meet(self, what: Share) -> None:
        """Wait for all: what they wrote is in this memory. Moments are complete since the last meeting of the step."""
        if what not in (Share.CHECKPOINT, Share.END):
            self._barrier.wait()
        if what is Share.GRADIENTS and self._worker == 0:
            self._state.taken[:] = 0  # nobody takes shards again before the meetings of norms and parameters

    def ask(self, value: int) -> list[int]:
        """Use the flags, and leave them as they were."""
        flags = self._state.flags
        flags[self._worker] = value
        self._barrier.wait()
        found: list[int] = flags[: self._workers].tolist()
        self._barrier.wait()
        flags[self._worker] = 0
        return found

    def gather(self, failure: WorkerFailed | None) -> list[WorkerFailed]:
        """Return the own one: the others tell the same parent theirs."""
        return [failure] if failure is not None else []

    def fail(self, failure: WorkerFailed) -> None:
        """Do nothing: the parent ends the others."""

    def look(self) -> None:
        """Do nothing: the parent sees all workers."""

    def leave(self) -> None:
        """Do nothing: nobody waits for anybody."""
