"""Between the trainer and those who watch: its events become the events of a run."""

from __future__ import annotations

from samebits.core import clock
from samebits.core.events import Metric, Observer, ShardDone, StageDone, StageStarted, Warned
from samebits.lockstep.parent.events import FitEvent, FitStarted, StepDone, ValidationDone

__all__ = ["STAGE", "Watch"]

STAGE = "train"


class Watch:
    """An observer of the trainer: a step is a finished shard of the stage ``train``, losses are metrics."""

    def __init__(self, observer: Observer) -> None:
        self._tell = observer
        self._started = clock.seconds()
        self._in_stage = False

    def __call__(self, event: FitEvent) -> None:
        """Pass one event on."""
        if isinstance(event, Warned):
            self._tell(event)
        elif (
            isinstance(event, FitStarted) and not self._in_stage
        ):  # once, also when workers were started again
            self._in_stage = True
            self._tell(StageStarted(STAGE, event.num_steps, event.num_steps))
            if event.step:
                self._tell(Warned(f"continuing after step {event.step} of {event.num_steps}"))
                self._shard(event.step - 1, event.step, 0.0, resumed=True)
        elif isinstance(event, StepDone):
            self._tell(Metric("loss", event.loss))
            self._shard(event.step, 1, event.seconds, resumed=False)
        elif isinstance(event, ValidationDone):
            self._tell(Metric("val_loss", event.loss))

    def _shard(self, step: int, units: int, seconds: float, *, resumed: bool) -> None:
        self._tell(ShardDone(STAGE, step, units, clock.seconds() - seconds, seconds, "", "", resumed))

    def close(self) -> None:
        """End the stage."""
        if self._in_stage:
            self._tell(StageDone(STAGE, clock.seconds() - self._started))
