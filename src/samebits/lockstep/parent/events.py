"""What a training run tells while it runs. Logs, progress lines and TensorBoard files are observers of these events.

After a lost worker the steps since the last checkpoint are computed, and told, again: with the same values. An observer that
writes a log should keep the last of two events of one step, or write from ``FitResult`` at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from samebits.core.observing.events import Warned

__all__ = ["CheckpointSaved", "FitEvent", "FitObserver", "FitStarted", "StepDone", "ValidationDone", "ignore"]


@dataclass(frozen=True, slots=True)
class FitStarted:
    """Workers are ready. ``step`` is the first to be computed; above 0 after a resume or a restart."""

    step: int
    num_steps: int
    num_parameters: int
    workers: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class StepDone:
    """One step.

    Attributes:
        step: Counted from 0.
        loss: Mean over shards before the update.
        grad_norm: Norm of the mean gradient before clipping.
        lr: Learning rate of the step (that of AdamW where Muon has its own).
        norms_crc: crc32 of the chunk norms: two logs differ first where two runs differed first.
        seconds: Wall time since the step before.
        update_seconds: Part of it that worker 0 spent in reducing and updating.
        units: Examples or tokens of the step; 0 when the objective does not say.
    """

    step: int
    loss: float
    grad_norm: float
    lr: float
    norms_crc: int
    seconds: float
    update_seconds: float
    units: int


@dataclass(frozen=True, slots=True)
class ValidationDone:
    """Validation loss after ``step`` steps."""

    step: int
    loss: float


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """A checkpoint of the state after ``step`` steps is safe on disk."""

    step: int
    folder: Path


FitEvent: TypeAlias = FitStarted | StepDone | ValidationDone | CheckpointSaved | Warned
FitObserver: TypeAlias = Callable[[FitEvent], None]


def ignore(event: FitEvent) -> None:
    """Observe nothing."""
