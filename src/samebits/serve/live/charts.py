"""Charts that grow: drawn once by the code of the report, then only the new points are sent.

A chart keeps its frame (the ranges of its axes) as long as the data fit into it. While the frame stays, a page needs only
the points since its last message; when it changes, the whole drawing, which is never more than a few hundred points a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from samebits.report.charts import Frame, Line, line_chart

__all__ = ["LiveChart", "Mark", "Series"]

Points = list[tuple[float, float]]
PAD = 0.06  # of the height, above and below
ROOM = (
    0.4  # of the height, on the side where lines left their frame: so a falling loss seldom needs a new one
)
LEAST_FILL = 0.35  # a frame that is emptier than this is chosen anew
FEW = 3  # points: a line so short is drawn with dots


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its points, and the epoch in which all but the last of them stay as they are."""

    name: str
    points: Points
    epoch: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What a page has of a chart: which drawing, and of each line how many points and the text of the last one."""

    epoch: int
    lines: tuple[tuple[int, str], ...]


@dataclass
class LiveChart:
    """One chart of one run.

    Attributes:
        key: Its name in messages and in the page.
        title: For people and screen readers.
        x_label: What runs along the axis.
        from_zero: Whether the vertical axis starts at 0.
        epoch: Number of the drawing.
    """

    key: str
    title: str
    x_label: str
    from_zero: bool = False
    epoch: int = 0
    frame: Frame | None = None
    series: Sequence[Series] = ()
    _drawn_with: Any = field(default=None, repr=False)

    def update(self, series: Sequence[Series], *, x_end: float | None = None, final: bool = False) -> None:
        """Take the lines as they are now; ``x_end`` is where the axis will end, when that is known.

        A final chart gets a frame that fits; one that grows gets a frame with room where the lines are heading.
        """
        kept = [line for line in series if line.points]
        kept = kept if any(len(line.points) > 1 for line in kept) else []  # one point is no curve
        frame = self._choose(kept, x_end, final=final)
        short = [
            line.points if len(line.points) < FEW else None for line in kept
        ]  # drawn with dots, so drawn anew
        drawn_with = (frame, short, [(line.name, line.epoch) for line in kept])
        if drawn_with != self._drawn_with:
            self.epoch += 1
        self.frame, self.series, self._drawn_with = frame, kept, drawn_with

    def _choose(self, series: Sequence[Series], x_end: float | None, *, final: bool) -> Frame | None:
        xs = [x for line in series for x, _ in (line.points[0], line.points[-1])]
        ys = [y for line in series for _, y in line.points]
        if not xs:
            return None
        low, high, last = min(ys), max(ys), max(xs)
        end = x_end if x_end is not None and x_end >= last else last if final else None
        old = self.frame
        if old is not None and not final and _fits(old, low, high, last, end):
            return old
        pad = PAD * ((high - low) or abs(high) or 1.0)
        below = above = pad
        if old is not None and not final:
            below = ROOM * (high - low) if low < old.y_low else pad
            above = ROOM * (high - low) if high > old.y_high else pad
        bottom = min(0.0, low) if self.from_zero else max(low - below, min(0.0, low))
        return Frame(0.0, end or _round_up(last), bottom, high + above)

    def mark(self) -> Mark:
        """Return what a page has once it has everything."""
        assert self.frame is not None or not self.series
        return Mark(
            self.epoch,
            tuple(
                (len(line.points), self.frame.path(line.points[-1:]) if self.frame else "")
                for line in self.series
            ),
        )

    def svg(self) -> Markup:
        """Return the whole drawing; empty while there is nothing to draw."""
        if self.frame is None:
            return Markup("")
        lines = [Line(line.name, line.points, dots=len(line.points) < FEW) for line in self.series]
        return line_chart(self.title, lines, x_label=self.x_label, y_label="", frame=self.frame)

    def since(self, mark: Mark | None) -> dict[str, Any] | None:
        """Return what brings a page with this mark up to date; None when nothing changed."""
        now = self.mark()
        if mark == now or self.frame is None:
            return None
        if mark is None or mark.epoch != now.epoch:
            return {"key": self.key, "svg": str(self.svg())}
        lines = []
        for number, ((count, last), line) in enumerate(zip(mark.lines, self.series, strict=True)):
            if (count, last) != now.lines[number]:
                start = max(0, count - 1)
                lines.append([number, start, self.frame.path(line.points[start:])])
        return {"key": self.key, "lines": lines}

    def plain(self) -> dict[str, Any]:
        """Return the numbers, for programs."""
        return {
            "title": self.title,
            "x": self.x_label,
            "lines": {line.name: [list(point) for point in line.points] for line in self.series},
        }


def _fits(old: Frame, low: float, high: float, last: float, end: float | None) -> bool:
    """Tell whether a frame still serves: everything is in it, and fills enough of it."""
    inside = last <= old.x_high and old.y_low <= low and high <= old.y_high
    filled = max(high, 0.0) - min(old.y_low, low) if old.y_low == 0 else high - low
    return inside and (end is None or end == old.x_high) and filled >= LEAST_FILL * (old.y_high - old.y_low)


def _round_up(value: float) -> float:
    """Return an end of an axis with some room to grow.

    >>> _round_up(7.0), _round_up(130.0)
    (8.0, 150.0)
    """
    if value <= 0:
        return 1.0
    scale: float = 10.0 ** math.floor(math.log10(value))
    return next(scale * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15) if scale * step >= value * 1.02)
