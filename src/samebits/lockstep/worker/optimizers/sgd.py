"""SGD with momentum: weight decay is added to the gradient."""

from __future__ import annotations

from samebits.arithmetic import updates
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.worker.optimizers.rule import Slice, StepSettings

__all__ = ["update"]


def update(state: State, config: FitConfig, piece: Slice, settings: StepSettings) -> None:
    """Update one slice in place."""
    here = slice(piece.start, piece.stop)
    updates.sgd(
        state.params[here],
        state.rows[0, here],
        state.first[here],
        scale=settings.scale,
        lr=config.lr * settings.rate,
        momentum=config.momentum,
        decay=piece.decay,
        nesterov=config.nesterov,
    )
