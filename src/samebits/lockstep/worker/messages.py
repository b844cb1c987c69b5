"""What a worker tells the parent, over a pipe of its own. Worker 0 speaks for all; the others only say how they ended.

Between ranks each worker has a parent of its own and tells it everything but ``Holding``: rank 0 alone saves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from samebits.errors import SamebitsError
from samebits.lockstep.problem.schedule import ScheduleState

if TYPE_CHECKING:
    from samebits.lockstep.parent.checkpoints import Checkpoint

__all__ = [
    "Began",
    "Finished",
    "Holding",
    "Message",
    "NonFinite",
    "Ready",
    "Stepped",
    "ValidatedAt",
    "WorkerFailed",
]


@dataclass(frozen=True, slots=True)
class Began:
    """Rank 0 goes on from this checkpoint, here without parameters and moments; told to the parents of the others."""

    found: Checkpoint


@dataclass(frozen=True, slots=True)
class Ready:
    """Probed and agreed; waits for the parent to compare the fingerprint and open the gate."""

    fingerprint: dict[str, str]
    compute: str
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stepped:
    """One step is done."""

    step: int
    loss: float
    grad_norm: float
    lr: float
    norms_crc: int
    update_seconds: float


@dataclass(frozen=True, slots=True)
class ValidatedAt:
    """A validation after ``step`` steps."""

    step: int
    loss: float


@dataclass(frozen=True, slots=True)
class Holding:
    """The state after ``step`` steps stays as it is until the parent opens the gate."""

    step: int
    progress: ScheduleState


@dataclass(frozen=True, slots=True)
class NonFinite:
    """A loss or gradient is not finite; ``shard`` is the lowest one it comes from, -1 if only the sum overflowed."""

    step: int
    shard: int
    loss: float


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """Something raised; ``shard`` is -1 outside of a shard. ``error`` is set for errors raised on purpose."""

    worker: int
    step: int
    shard: int
    summary: str
    remote_traceback: str
    error: SamebitsError | None


@dataclass(frozen=True, slots=True)
class Finished:
    """This worker ends as it should, after ``step`` steps."""

    worker: int
    step: int
    progress: ScheduleState
    peak_bytes: int


Message = Began | Ready | Stepped | ValidatedAt | Holding | NonFinite | WorkerFailed | Finished
