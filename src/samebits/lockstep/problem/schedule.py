"""Learning rates as a pure function of the step, and what validation losses do to them.

Both are computed by every worker for itself from the same exact numbers, so nothing has to be agreed on.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from samebits.arithmetic.functions import cos
from samebits.lockstep.problem.config import FitConfig

__all__ = ["ScheduleState", "after_validation", "rate", "same_rates"]


def rate(config: FitConfig, step: int) -> float:
    """Return the share of the peak learning rate at a step.

    >>> config = FitConfig(steps=10, schedule="trapezoid", warmup=2, cooldown=0.5)
    >>> [round(rate(config, step), 2) for step in range(10)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]
    """
    if step < config.warmup:
        return (step + 1) / config.warmup
    if config.schedule == "cosine":
        done = (step - config.warmup) / max(1, config.steps - config.warmup)
        return config.floor + (1 - config.floor) * 0.5 * (1 + cos(math.pi * done))
    if config.schedule == "trapezoid":
        start = int(config.steps * (1 - config.cooldown))
        if step >= start:
            left = max(0.0, (config.steps - step) / max(1, config.steps - start))
            return config.floor + (1 - config.floor) * left
    return 1.0


def same_rates(old: FitConfig, new: FitConfig, steps_done: int) -> bool:
    """Tell whether two numbers of steps give the steps already done the same learning rates."""
    return all(rate(old, step) == rate(new, step) for step in range(steps_done))


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """What the validations so far decided; part of a checkpoint.

    Attributes:
        factor: What plateaus have multiplied the learning rates by.
        best: Lowest validation loss.
        flat: Validations since then, for the plateau; a cut starts it again.
        stale: Validations since then, for the early stop.
        stopped: An early stop was decided.
    """

    factor: float = 1.0
    best: float = math.inf
    flat: int = 0
    stale: int = 0
    stopped: bool = False

    def fields(self) -> dict[str, Any]:
        """Return JSON that keeps every bit; infinity is no JSON number."""
        return {**asdict(self), "factor": self.factor.hex(), "best": self.best.hex()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> ScheduleState:
        """Read what ``fields`` wrote."""
        return cls(
            **{
                **fields,
                "factor": float.fromhex(fields["factor"]),
                "best": float.fromhex(fields["best"]),
            }
        )


def after_validation(config: FitConfig, progress: ScheduleState, loss: float) -> ScheduleState:
    """Return what a validation loss decides."""
    if loss < progress.best:
        return replace(progress, best=loss, flat=0, stale=0)
    flat, stale, factor = progress.flat + 1, progress.stale + 1, progress.factor
    if config.plateau and flat >= config.plateau:
        flat, factor = 0, factor * config.plateau_factor
    stopped = bool(config.early_stop and stale >= config.early_stop)
    return replace(progress, factor=factor, flat=flat, stale=stale, stopped=stopped)
