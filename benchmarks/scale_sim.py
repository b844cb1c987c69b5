"""What a run would take with W workers: a discrete-event simulation of the engine, and the arithmetic of a training step.

Times are whole nanoseconds, so that a simulation is exact and the same everywhere. The engine is modelled as it is written
(``core/engine.py``): shards are submitted in order while at most ``window`` of them are ahead of the next one to fold; a free
worker takes the oldest; parts pass the driver's network link one after the other; the driver takes each part when it
arrives and folds in shard order, one at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from samebits.core.engine import WINDOW_PER_WORKER
from samebits.lockstep.exchange.barrier import num_rounds

__all__ = ["LONGEST", "Outcome", "Step", "simulate", "simulate_many", "step_seconds"]

LONGEST = (
    20_000  # shards simulated one by one; beyond, equal shards repeat at the pace they have reached by then
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened, in nanoseconds.

    Attributes:
        wall: From the first submission to the last fold.
        worker: Busy time of all workers together.
        driver: Busy time of the driver.
        link: Busy time of the link.
        most_ahead: Largest number of shards submitted and not yet folded.
    """

    wall: int
    worker: int
    driver: int
    link: int
    most_ahead: int


def simulate(
    tasks: Sequence[int], *, workers: int, driver: int = 0, link: int = 0, window: int = 0
) -> Outcome:
    """Run one stage.

    Args:
        tasks: Time of each shard on a worker, in shard order.
        workers: How many.
        driver: The driver's time for each part: taking it, keeping it in the journal, folding it.
        link: Time of each part on the driver's link; 0 where parts stay in memory.
        window: Shards ahead of the fold; 0 takes the engine's own number.
    """
    window = window or WINDOW_PER_WORKER * workers
    free = [0] * workers  # when each worker is free; equal entries are already a heap
    finishing: list[tuple[int, int]] = []
    ready: set[int] = set()
    now = link_free = submitted = folded = most_ahead = 0
    while folded < len(tasks):
        while submitted < len(tasks) and submitted - folded < window:
            finish = max(now, free[0]) + tasks[submitted]
            heapq.heapreplace(free, finish)
            heapq.heappush(finishing, (finish, submitted))
            submitted += 1
        most_ahead = max(most_ahead, submitted - folded)
        if folded in ready:
            ready.remove(folded)
            folded += 1
            continue
        finish, position = heapq.heappop(finishing)
        link_free = max(link_free, finish) + link
        now = max(now, link_free) + driver
        ready.add(position)
    return Outcome(now, sum(tasks), driver * len(tasks), link * len(tasks), most_ahead)


def simulate_many(
    num_shards: int, task: int, *, workers: int, driver: int = 0, link: int = 0, longest: int = LONGEST
) -> int:
    """Return the wall time of equally large shards, however many: beyond ``longest`` at the pace of the second half."""
    simulated = min(num_shards, longest)
    whole = _equal_shards(simulated, task, workers, driver, link)
    if simulated == num_shards:
        return whole
    half = _equal_shards(simulated // 2, task, workers, driver, link)
    return whole + (num_shards - simulated) * (whole - half) // (simulated - simulated // 2)


@cache
def _equal_shards(number: int, task: int, workers: int, driver: int, link: int) -> int:
    return simulate([task] * number, workers=workers, driver=driver, link=link).wall


@dataclass(frozen=True, slots=True)
class Step:
    """What one training step costs, in CPU seconds of one worker that does all of it.

    Attributes:
        row: Gradient of one row of the batch.
        batch: Rows of the batch.
        add: Adding one gradient to another.
        reduce: Mean and norms of the whole buffer.
        update: The optimizer over the whole buffer.
        wake: One worker waking another at a barrier.
    """

    row: float
    batch: int
    add: float
    reduce: float
    update: float
    wake: float


def step_seconds(step: Step, *, shards: int, workers: int, largest_share: float) -> dict[str, float]:
    """Return the seconds of a step by what they are spent on; workers beyond the gradient shards are refused, as in a run.

    ``largest_share`` is the part of the update that falls to the worker with the most of it: whole matrices have one owner.
    """
    if workers > shards:
        raise ValueError(f"{workers} workers for {shards} gradient shards")
    own = -(-shards // workers)
    return {
        "compute": own * step.row * step.batch / shards,
        "merge": (own - 1) * step.add + (workers - 1) * step.add / workers,
        "reduce": step.reduce / workers,
        "update": step.update * largest_share,
        "barriers": 3 * num_rounds(workers) * step.wake,
    }
