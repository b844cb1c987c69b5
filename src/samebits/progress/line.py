"""One progress line for every run: where it is, how fast, how long still, how much memory.

A shard stage counts shards and says its rate in what the shards are made of; a training stage counts steps and shows its
losses. On a terminal the line is drawn over itself and never wider than the window: what matters least is left out
first. In logs and pipes a line is printed every few seconds.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Protocol, Self

from samebits.core.observing import clock
from samebits.core.observing.events import Event, Metric, ShardDone, StageDone, StageStarted, Warned
from samebits.core.observing.units import show_size, wrap_line
from samebits.machine.memory import memory_of_all

__all__ = ["LiveProgress", "PlainProgress", "Progress", "Stage", "make_progress"]

PLAIN_SECONDS = 5.0  # a log file wants few lines
LIVE_SECONDS = 0.15
MEMORY_SECONDS = 2.0  # asking every process for its memory costs a millisecond
FIRST_RATE_SECONDS = 0.5  # a rate measured over less is noise
BAR_WIDTH = 20
CLEAR = "\r\x1b[2K"
LOSSES = ("loss", "val_loss")
NOT_SAID = (*LOSSES, "lr")  # a learning rate is for curves


class Progress(Protocol):
    """An observer that is also a context: the line disappears when it ends."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, event: Event) -> None:
        """Show an event."""
        ...


def make_progress(*, show: bool = True, quiet: bool = False, verbose: bool = False) -> Progress:
    """Return a live line on a terminal, plain lines elsewhere, warnings only with ``--no-progress``."""
    if show and not quiet and sys.stderr is not None and sys.stderr.isatty():
        return LiveProgress(verbose=verbose)
    return PlainProgress(show=show and not quiet, warn=not quiet, verbose=verbose and not quiet)


class Stage:
    """What is known of the running stage."""

    def __init__(self) -> None:
        self.name = ""
        self.num_pieces = self.num_units = 0
        self.unit = self.pieces = ""
        self.pieces_done = self.pieces_resumed = 0
        self.units_done = self.units_resumed = 0
        self.started = clock.seconds()
        self.metrics: dict[str, float] = {}
        self._memory, self._asked = 0, -MEMORY_SECONDS

    def take(self, event: Event) -> None:
        """Learn from an event."""
        if isinstance(event, StageStarted):
            self.name, self.unit, self.pieces = event.stage, event.unit, event.pieces
            self.num_pieces, self.num_units = event.num_shards, event.num_units
            self.pieces_done = self.pieces_resumed = self.units_done = self.units_resumed = 0
            self.started = clock.seconds()
            # Numbers of a stage end with it; what was unusable stays worth knowing.
            self.metrics = {name: value for name, value in self.metrics.items() if name == "bad_rows"}
        elif isinstance(event, ShardDone):
            self.pieces_done += event.num_pieces
            self.units_done += event.num_units
            if event.resumed:
                self.pieces_resumed += event.num_pieces
                self.units_resumed += event.num_units
        elif isinstance(event, Metric):
            self.metrics[event.name] = event.value

    def share(self) -> float:
        """How much of the stage is done, from 0 to 1."""
        return min(1.0, self.units_done / self.num_units) if self.num_units else 0.0

    def said(self) -> list[str]:
        """Say where the stage is, most important first."""
        said = [f"{self.pieces_done}/{self.num_pieces} {self.pieces}"]
        said += [f"{n.replace('_', ' ')} {self.metrics[n]:.4f}" for n in LOSSES if n in self.metrics]
        seconds, fresh = clock.seconds() - self.started, self.units_done - self.units_resumed
        if seconds > FIRST_RATE_SECONDS and fresh:
            rate = fresh / seconds
            shown = show_size(rate) if self.unit == "bytes" else f"{rate:,.0f} {self.unit}"
            # The time left goes by all that has passed, validations too: it does not jump after each of them.
            said += [f"{show_time((self.num_units - self.units_done) / rate)} left", f"{shown}/s"]
        others = {name: value for name, value in self.metrics.items() if value and name not in NOT_SAID}
        said += [f"{value:g} {name.replace('_', ' ')}" for name, value in others.items()]
        return [*said, f"{show_size(self._memory_now())} memory"]

    def _memory_now(self) -> int:
        if clock.seconds() - self._asked > MEMORY_SECONDS:
            self._memory, self._asked = memory_of_all(), clock.seconds()
        return self._memory


def show_time(seconds: float) -> str:
    """Say how long, as people would.

    >>> show_time(4.2), show_time(150), show_time(8000)
    ('4 s', '2 min 30 s', '2 h 13 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def fit_line(pieces: list[str], width: int) -> str:
    """Join with commas as many of the first pieces as fit the width.

    >>> fit_line(["3/9 shards", "4 s left", "12 MB memory"], 24)
    '3/9 shards, 4 s left'
    """
    line = ""
    for piece in pieces:
        longer = f"{line}, {piece}" if line else piece
        if len(longer) > width:
            break
        line = longer
    return line or pieces[0][:width]


class PlainProgress:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, *, show: bool, warn: bool, verbose: bool) -> None:
        self._show, self._warn, self._verbose = show, warn, verbose
        self._stage = Stage()
        self._last = clock.seconds()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        """Print now and then."""
        self._stage.take(event)
        if isinstance(event, Warned) and self._warn:
            _write(f"note: {event.message}\n")
        elif isinstance(event, ShardDone) and self._verbose:
            _write(f"{_shard_line(event)}\n")
        if self._show and clock.seconds() - self._last > PLAIN_SECONDS and not isinstance(event, StageDone):
            self._last = clock.seconds()
            _write(f"{self._stage.name}: {', '.join(self._stage.said())}\n")


class LiveProgress:
    """A line with a bar, drawn over itself."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._stage = Stage()
        self._last = -LIVE_SECONDS
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def __call__(self, event: Event) -> None:
        """Redraw the line; warnings and shards stay above it."""
        self._stage.take(event)
        if isinstance(event, Warned):
            self._clear()
            _write(f"{wrap_line(f'note: {event.message}', _terminal_width(), indent=6)}\n")
        elif isinstance(event, ShardDone) and self._verbose:
            self._clear()
            _write(f"{_shard_line(event)}\n")
        if isinstance(event, StageDone):
            self._clear()  # others may print before the next stage starts
        elif isinstance(event, StageStarted) or clock.seconds() - self._last >= LIVE_SECONDS:
            self._draw()

    def _draw(self) -> None:
        if not self._stage.name:
            return
        self._last = clock.seconds()
        width = _terminal_width()
        cells = (
            BAR_WIDTH if width >= 100 else BAR_WIDTH // 2
        )  # 80 columns hold two losses and the time left beside it
        full = round(self._stage.share() * cells)
        bar = "━" * full + "─" * (cells - full)
        start = f"{self._stage.name} {bar} " if width >= 60 else f"{self._stage.name} "
        _write(f"{CLEAR}{start}{fit_line(self._stage.said(), width - len(start))}")
        self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            _write(CLEAR)
            self._drawn = False


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns - 1  # the last column would make some terminals wrap


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _shard_line(event: ShardDone) -> str:
    source = "from the journal" if event.resumed else f"{event.seconds:.3f} s, {event.worker}"
    return f"{event.stage}: shard {event.index}, {source}, {event.digest[:16]}"
