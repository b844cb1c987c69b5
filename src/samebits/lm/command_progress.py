"""The progress line of training: step, loss, validation loss, tokens a second, time left, memory."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

import click

from samebits.cli.progress import Progress
from samebits.core import clock
from samebits.core.events import Event, Metric, ShardDone, StageStarted, Warned
from samebits.core.units import show_size
from samebits.machine.memory import memory_of_all

__all__ = ["LmProgress", "make_lm_progress"]

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 5.0
MEMORY_SECONDS = 2.0  # asking every process for its memory costs a millisecond
RECENT = 0.9  # weight of the past in the smoothed step time


class LmProgress:
    """An observer that draws one line over itself on a terminal, or prints one now and then."""

    def __init__(self, *, show: bool, warn: bool, live: bool) -> None:
        self._show, self._warn, self._live = show, warn, live
        self._last = self._asked = 0.0
        self._steps = self._done = self._memory = 0
        self._tokens = 0
        self._seconds = 0.0
        self._metrics: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def __call__(self, event: Event) -> None:
        """Take an event; draw if it is time."""
        if isinstance(event, Warned):
            if self._warn:
                self._clear()
                click.echo(f"note: {event.message}", err=True)
        elif isinstance(event, StageStarted):
            self._steps, self._done = event.num_shards, 0
        elif isinstance(event, Metric):
            self._metrics[event.name] = event.value
        elif isinstance(event, ShardDone):
            self._done = event.index + 1
            if not event.resumed:
                self._tokens = event.num_units
                past = RECENT if self._seconds else 0.0
                self._seconds = past * self._seconds + (1 - past) * event.seconds
            self._draw()

    def text(self) -> str:
        """Say where the run is.

        Losses have four decimals: the last digit that means something after a few hundred steps.
        """
        pieces = [f"step {self._done}/{self._steps}"]
        losses = {name: value for name, value in self._metrics.items() if name in ("loss", "val_loss")}
        pieces += [f"{name.replace('_', ' ')} {value:.4f}" for name, value in losses.items()]
        if self._seconds:
            pieces.append(f"{self._tokens / self._seconds:,.0f} tok/s")
            pieces.append(f"{(self._steps - self._done) * self._seconds:.0f} s left")
        if clock.seconds() - self._asked > MEMORY_SECONDS:
            self._asked, self._memory = clock.seconds(), memory_of_all()
        return ", ".join([*pieces, f"{show_size(self._memory)} memory"])

    def _draw(self) -> None:
        wait = LIVE_SECONDS if self._live else PLAIN_SECONDS
        if not self._show or clock.seconds() - self._last < wait:
            return
        self._last = clock.seconds()
        if self._live:
            click.echo(f"\r\x1b[2K{self.text()}", err=True, nl=False)
        else:
            click.echo(self.text(), err=True)

    def _clear(self) -> None:
        if self._live and self._last:
            click.echo("\r\x1b[2K", err=True, nl=False)


def make_lm_progress(*, show: bool, quiet: bool) -> Progress:
    """Return the line that fits: live on a terminal, now and then elsewhere, warnings alone, or nothing."""
    live = show and not quiet and sys.stderr.isatty()
    return LmProgress(show=show and not quiet, warn=not quiet, live=live)
