"""Between the trainer and those who watch: its events become a run's events and TensorBoard scalars."""

from __future__ import annotations

from pathlib import Path

from samebits.core import clock
from samebits.core.events import Metric, Observer, ShardDone, StageDone, StageStarted, Warned
from samebits.lm.training.tensorboard import EventFile
from samebits.lockstep.parent.events import FitEvent, FitStarted, StepDone, ValidationDone

__all__ = ["STAGE", "Watch"]

STAGE = "train"
FLUSH_SECONDS = 5.0


class Watch:
    """An observer of the trainer.

    A step is told as a finished shard of the stage ``train`` whose units are tokens; loss and validation loss are metrics.
    """

    def __init__(self, observer: Observer, tokens_per_step: int, folder: Path | None) -> None:
        self._tell, self._tokens = observer, tokens_per_step
        self._file = EventFile(folder) if folder is not None else None
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
        self._tell(StageStarted(STAGE, event.num_steps, event.num_steps * self._tokens))
        if event.step:
            self._tell(Warned(f"continuing after step {event.step} of {event.num_steps}"))
            self._shard(event.step - 1, event.step * self._tokens, 0.0, resumed=True)

    def _step(self, event: StepDone) -> None:
        self._tell(Metric("loss", event.loss))
        self._shard(event.step, self._tokens, event.seconds, resumed=False)
        if self._file is None:
            return
        speed = self._tokens / event.seconds if event.seconds > 0 else 0.0
        self._file.add(
            event.step + 1,
            loss_train=event.loss,
            train_lr=event.lr,
            train_grad_norm=event.grad_norm,
            train_tokens_per_second=speed,
        )
        if clock.seconds() - self._flushed > FLUSH_SECONDS:
            self._flushed = clock.seconds()
            self._file.flush()

    def _shard(self, step: int, tokens: int, seconds: float, *, resumed: bool) -> None:
        self._tell(ShardDone(STAGE, step, tokens, clock.seconds() - seconds, seconds, "", "", resumed))

    def close(self) -> None:
        """End the stage and the file."""
        if self._in_stage:
            self._tell(StageDone(STAGE, clock.seconds() - self._started))
        if self._file is not None:
            self._file.close()
