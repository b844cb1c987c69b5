"""Progress where Python is called: a live line with a loss curve in Jupyter, the command line's progress elsewhere.

``progress="auto"``, the default of every function that computes for long, shows it in notebooks and nothing in scripts;
``True`` shows it everywhere, ``False`` nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from samebits.core.observing import clock
from samebits.core.observing.events import Event, Metric, Observer, StageStarted, Warned, fan_out
from samebits.errors import ConfigError
from samebits.progress.line import Progress, Stage, make_progress

__all__ = ["NotebookProgress", "Show", "in_notebook", "showing"]

Show: TypeAlias = bool | Literal["auto"]
DRAW_SECONDS = 0.25
MOST_POINTS = 400
WIDTH, HEIGHT = 480, 120


def in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this; never imports IPython for it."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def showing(progress: Show, observer: Observer) -> Iterator[Observer]:
    """Give an observer that also shows progress, if it is wanted here.

    Raises:
        ConfigError: ``progress`` is none of True, False and "auto".
    """
    if not isinstance(progress, bool) and progress != "auto":
        raise ConfigError(f"progress is {progress!r}", hint='use True, False or "auto"')
    if progress is False or (progress == "auto" and not in_notebook()):
        yield observer
        return
    shown: Progress = NotebookProgress() if in_notebook() else make_progress()
    with shown:
        yield fan_out(shown, observer)


class NotebookProgress:
    """A bar, a line of text and, when something is trained, the curve of its loss, drawn over themselves."""

    def __init__(self) -> None:
        self._stage = Stage()
        self._losses: list[float] = []
        self._notes: list[str] = []
        self._last = -DRAW_SECONDS
        self._handle: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._draw()

    def __call__(self, event: Event) -> None:
        """Take an event; draw a few times a second."""
        self._stage.take(event)
        if isinstance(event, StageStarted):
            self._losses = []
        elif isinstance(event, Metric) and event.name == "loss":
            self._losses.append(event.value)
        elif isinstance(event, Warned):
            self._notes.append(event.message)
        if clock.seconds() - self._last >= DRAW_SECONDS and self._stage.name:
            self._draw()

    def _draw(self) -> None:
        from IPython import display

        show: Any = display  # IPython's functions have no types
        self._last = clock.seconds()
        page = show.HTML(self.html())
        if self._handle is None:
            self._handle = show.display(page, display_id=True)
        else:
            self._handle.update(page)

    def html(self) -> str:
        """Return what is shown now."""
        said = escape(f"{self._stage.name}: {', '.join(self._stage.said())}")
        notes = "".join(f"<div>note: {escape(note)}</div>" for note in self._notes)
        bar = f'<progress value="{self._stage.share():.4f}" style="width:12em"></progress>'
        return f"<div>{bar} {said}</div>{notes}{_curve(self._losses)}"


def _curve(losses: list[float]) -> str:
    """Draw losses as a line; nothing for fewer than two."""
    if len(losses) < 2:
        return ""
    size = -(-len(losses) // MOST_POINTS)
    points = [sum(losses[i : i + size]) / len(losses[i : i + size]) for i in range(0, len(losses), size)]
    low, high = min(points), max(points)
    span, last = high - low or 1.0, max(1, len(points) - 1)
    path = " ".join(
        f"{WIDTH * i / last:.1f},{4 + (HEIGHT - 8) * (high - y) / span:.1f}" for i, y in enumerate(points)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="loss by step">'
        f'<polyline fill="none" stroke="currentColor" stroke-width="1.5" points="{path}"/></svg>'
        f"<div>loss from {points[0]:.3f} to {points[-1]:.3f} in {len(losses):,} steps</div>"
    )
