"""AdamW: both moments corrected for their start, weight decay apart from the gradient."""

from __future__ import annotations

from samebits.arithmetic import updates
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.worker.optimizers.rule import Slice, StepSettings

__all__ = ["update"]


def update(state: State, config: FitConfig, piece: Slice, settings: StepSettings) -> None:
    """Update one slice in place."""
    here = slice(piece.start, piece.stop)
    updates.adamw(
        state.params[here],
        state.rows[0, here],
        state.first[here],
        state.second[here],
        scale=settings.scale,
        lr=config.lr * settings.rate,
        beta1=config.beta1,
        beta2=config.beta2,
        eps=config.eps,
        decay=piece.decay,
        step=settings.step + 1,
    )
