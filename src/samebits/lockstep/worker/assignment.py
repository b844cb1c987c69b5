"""What a worker is told when it is started: the order, the same for all, and its own wiring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from samebits.lockstep.exchange.memory import Sizes
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.objective import Objective
from samebits.lockstep.problem.schedule import ScheduleState

if TYPE_CHECKING:
    from samebits.lockstep.parent.checkpoints import Checkpoint

__all__ = ["GO_ON", "SAVE", "STOP", "Order", "Wiring"]

GO_ON, SAVE, STOP = 0, 1, 2  # what a parent wants; the largest wish of all parents counts


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done; the same for all workers.

    Attributes:
        objective: Unbound.
        config: Settings.
        layout: Places of tensors.
        sizes: Of the shared memory.
        start: First step.
        fresh: Parameters have no values yet.
        progress: What validations before ``start`` decided.
        last: Steps after which workers end: all of the run, or fewer of a replay.
        save_every: A checkpoint is saved after multiples of any of these; the parent asks for others.
        found: Head and history of the checkpoint that rank 0 goes on from, for the other ranks; None elsewhere.
    """

    objective: Objective
    config: FitConfig
    layout: Layout
    sizes: Sizes
    start: int
    fresh: bool
    progress: ScheduleState
    last: int
    save_every: tuple[int, ...]
    found: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class Wiring:
    """Descriptors and numbers of one worker; crosses the process border as JSON.

    Attributes:
        worker: Its number; a rank's is its rank.
        workers: How many there are, on all machines.
        parent: Process that started it.
        memory: Of the mapping.
        order: Of the pickled order.
        pipe: To the parent.
        gate: Opened by the parent.
        slots: Of the barrier; empty for a rank, which shares no memory with the others.
        cores: To choose one from, if it is to be tied to one.
        ranks: Prefix of a rank's keys in the store of torchrun; empty when all workers have one parent.
        stall_timeout: Seconds without a sign of life before a rank counts as lost.
    """

    worker: int
    workers: int
    parent: int
    memory: int
    order: int
    pipe: int
    gate: int
    slots: list[list[int]]
    cores: list[int]
    ranks: str
    stall_timeout: float
