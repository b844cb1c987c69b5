"""One progress line: stage, share, rate, time left, bad rows, memory. Plain lines where nobody watches a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Protocol, Self

import click

from samebits.core import clock
from samebits.core.events import Event, Metric, ShardDone, StageDone, StageStarted, Warned
from samebits.core.units import show_size
from samebits.machine.memory import memory_of_all

__all__ = ["Progress", "make_progress"]

PLAIN_SECONDS = 5.0  # a log file wants few lines
FIRST_RATE_SECONDS = 0.5  # a rate measured over less is noise


class Progress(Protocol):
    """An observer that is also a context: the line disappears when it ends."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, event: Event) -> None:
        """Show an event."""
        ...


def make_progress(*, show: bool, quiet: bool, verbose: bool) -> Progress:
    """Return a live line on a terminal, plain lines elsewhere, warnings only with ``--no-progress``."""
    if quiet:
        return PlainProgress(show=False, warn=False, verbose=False)
    if show and sys.stderr.isatty():
        return LiveProgress(verbose=verbose)
    return PlainProgress(show=show, warn=True, verbose=verbose)


class _State:
    """What is known of the running stage."""

    def __init__(self) -> None:
        self.stage = ""
        self.num_shards = 0
        self.num_units = 0
        self.unit = "bytes"
        self.shards_done = 0
        self.units_done = 0
        self.units_resumed = 0
        self.started = clock.seconds()
        self.metrics: dict[str, float] = {}

    def take(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self.stage, self.num_shards, self.num_units = event.stage, event.num_shards, event.num_units
            self.unit = event.unit
            self.shards_done = self.units_done = self.units_resumed = 0
            self.started = clock.seconds()
            # Numbers of a stage end with it; what was unusable stays worth knowing.
            self.metrics = {name: value for name, value in self.metrics.items() if name == "bad_rows"}
        elif isinstance(event, ShardDone):
            self.shards_done += 1
            self.units_done += event.num_units
            self.units_resumed += event.num_units if event.resumed else 0
        elif isinstance(event, Metric):
            self.metrics[event.name] = event.value

    def text(self) -> str:
        """Say rate, time left, metrics and memory."""
        seconds = clock.seconds() - self.started
        pieces = [f"{self.shards_done}/{self.num_shards} shards"]
        fresh = self.units_done - self.units_resumed
        if seconds > FIRST_RATE_SECONDS and fresh:
            rate = fresh / seconds
            shown = show_size(rate) if self.unit == "bytes" else f"{rate:,.0f} {self.unit}"
            pieces.append(f"{shown}/s")
            pieces.append(f"{max(0, self.num_units - self.units_done) / rate:.0f} s left")
        pieces += [f"{value:g} {name.replace('_', ' ')}" for name, value in self.metrics.items() if value]
        pieces.append(f"{show_size(memory_of_all())} memory")
        return ", ".join(pieces)


class PlainProgress:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, *, show: bool, warn: bool, verbose: bool) -> None:
        self._show = show
        self._warn = warn
        self._verbose = verbose
        self._state = _State()
        self._last = clock.seconds()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        """Print now and then."""
        self._state.take(event)
        if isinstance(event, Warned) and self._warn:
            click.echo(f"note: {event.message}", err=True)
        elif isinstance(event, ShardDone) and self._verbose:
            click.echo(_shard_line(event), err=True)
        if self._show and clock.seconds() - self._last > PLAIN_SECONDS and not isinstance(event, StageDone):
            self._last = clock.seconds()
            click.echo(f"{self._state.stage}: {self._state.text()}", err=True)


class LiveProgress:
    """A bar that is drawn over itself, by rich."""

    def __init__(self, *, verbose: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._verbose = verbose
        self._state = _State()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}"),
        )
        self._bar: Any = Bar(*columns, console=Console(stderr=True), transient=True, refresh_per_second=8)
        self._task: Any = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Redraw the line; warnings and shards stay above it."""
        self._state.take(event)
        if isinstance(event, Warned):
            self._bar.console.print(f"note: {event.message}", markup=False, highlight=False)
        elif isinstance(event, ShardDone) and self._verbose:
            self._bar.console.print(_shard_line(event), markup=False, highlight=False)
        if isinstance(event, StageStarted):
            if self._task is None:
                self._task = self._bar.add_task("", text="")
            self._bar.reset(self._task, total=max(1, event.num_units), description=event.stage, text="")
        if self._task is not None:
            self._bar.update(self._task, completed=self._state.units_done, text=self._state.text())


def _shard_line(event: ShardDone) -> str:
    source = "from the journal" if event.resumed else f"{event.seconds:.3f} s, {event.worker}"
    return f"{event.stage}: shard {event.index}, {source}, {event.digest[:16]}"
