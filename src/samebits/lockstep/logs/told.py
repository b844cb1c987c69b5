"""Between the trainer and those who watch: its events become a run's events and TensorBoard scalars."""

from __future__ import annotations

from pathlib import Path

from samebits.core.observing import clock
from samebits.core.observing.events import Metric, Observer, ShardDone, StageDone, StageStarted, Warned
from samebits.lockstep.logs.tensorboard import EventFile
from samebits.lockstep.parent.events import FitEvent, FitStarted, StepDone, ValidationDone

__all__ = ["STAGE", "TrainingTold"]

STAGE = "train"
FLUSH_SECONDS = 5.0


class TrainingTold:
    """An observer of the trainer: a step is a finished piece of the stage ``train``, losses are metrics.

    Args:
        observer: Told what progress lines and logs understand.
        unit: What a step is made of: ``tokens``, ``examples``.
        units_per_step: How many of them.
        tensorboard: Folder for TensorBoard files; None writes none.
    """

    def __init__(
        self, observer: Observer, *, unit: str, units_per_step: int, tensorboard: Path | None = None
    ) -> None:
        self._tell, self._unit, self._units = observer, unit, units_per_step
        self._file = EventFile(tensorboard) if tensorboard is not None else None
        self._started = self._flushed = clock.seconds()
        self._in_stage = False

    def __call__(self, event: FitEvent) -> None:
        """Pass one event on."""
        if isinstance(event, Warned):
            self._tell(event)
        elif isinstance(event, FitStarted):
            self._begin(event)
        elif isinstance(event, StepDone):
            self._step(event)
        elif isinstance(event, ValidationDone):
            self._tell(Metric("val_loss", event.loss))
            if self._file is not None:
                self._file.add(event.step, loss_val=event.loss)
                self._file.flush()

    def _begin(self, event: FitStarted) -> None:
        if self._in_stage:  # workers were lost and started again
            return
        self._in_stage = True
        self._tell(StageStarted(STAGE, event.num_steps, event.num_steps * self._units, self._unit, "steps"))
        if event.step:
            self._tell(Warned(f"continuing after step {event.step} of {event.num_steps}"))
            self._done(event.step - 1, event.step, 0.0, resumed=True)

    def _step(self, event: StepDone) -> None:
        self._tell(Metric("loss", event.loss))
        self._tell(Metric("lr", event.lr))
        self._done(event.step, 1, event.seconds, resumed=False)
        if self._file is None:
            return
        speed = self._units / event.seconds if event.seconds > 0 else 0.0
        self._file.add(
            event.step + 1,
            loss_train=event.loss,
            train_lr=event.lr,
            train_grad_norm=event.grad_norm,
            **{f"train_{self._unit}_per_second": speed},
        )
        if clock.seconds() - self._flushed > FLUSH_SECONDS:
            self._flushed = clock.seconds()
            self._file.flush()

    def _done(self, step: int, steps: int, seconds: float, *, resumed: bool) -> None:
        started = clock.seconds() - seconds
        self._tell(ShardDone(STAGE, step, steps * self._units, started, seconds, "", "", resumed, steps))

    def close(self) -> None:
        """End the stage and the file."""
        if self._in_stage:
            self._tell(StageDone(STAGE, clock.seconds() - self._started))
        if self._file is not None:
            self._file.close()
