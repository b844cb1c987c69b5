"""Small charts as inline SVG: lines, bars, heat map, timeline. The same numbers give the same bytes.

Colours are CSS classes of the page, so that one drawing serves light, dark and print. Every chart has a title for
screen readers, and no meaning is carried by colour alone: series are also dashed differently and labelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

__all__ = ["Bar", "ChartSpan", "Frame", "Line", "bar_chart", "heat_map", "line_chart", "timeline"]

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 24, 34
MOST_POINTS = 600  # more than pixels: longer lines are thinned by taking the mean of each bucket


@dataclass(frozen=True, slots=True)
class Line:
    """One series; points are (x, y) with rising x."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The ranges that a line chart shows; one that stays lets points be added to a chart without drawing it again."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        """Return points as an SVG polyline has them."""
        return " ".join(f"{_n(x)},{_n(y)}" for x, y in self.place(points))

    def place(self, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return where points lie on the chart."""
        x_scale = (WIDTH - LEFT - RIGHT) / ((self.x_high - self.x_low) or 1)
        y_scale = (HEIGHT - TOP - BOTTOM) / ((self.y_high - self.y_low) or 1)
        return [
            (LEFT + (x - self.x_low) * x_scale, HEIGHT - BOTTOM - (y - self.y_low) * y_scale)
            for x, y in points
        ]


@dataclass(frozen=True, slots=True)
class Bar:
    """One labelled value; ``note`` is written behind it."""

    label: str
    value: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """One piece of work of a row in a timeline."""

    row: int
    start: float
    stop: float
    kind: int
    title: str


def _n(value: float) -> str:
    """Write a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _figure(title: str, width: float, height: float, body: Markup) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{t}"><title>{t}</title>{b}</svg>'
    ).format(w=_n(width), h=_n(height), t=title, b=body)


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "label") -> Markup:
    return Markup('<text class="{k}" x="{x}" y="{y}" text-anchor="{a}">{t}</text>').format(
        k=kind, x=_n(x), y=_n(y), a=anchor, t=text
    )


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers that cover a range."""
    if high <= low:
        return [low]
    rough = (high - low) / count
    scale: float = 10 ** math.floor(math.log10(rough))
    step = next(scale * factor for factor in (1, 2, 2.5, 5, 10) if scale * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _label(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k" if abs(value) < 1e6 else f"{value / 1e6:g}M"
    return f"{value:.4g}"


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(points) <= MOST_POINTS:
        return list(points)
    size = -(-len(points) // MOST_POINTS)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]


def line_chart(
    title: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    from_zero: bool = False,
    frame: Frame | None = None,
) -> Markup:
    """Draw series over a common axis; points that are not finite are left out. The frame is theirs if none is given."""
    cleaned = [
        Line(line.name, [(x, y) for x, y in line.points if math.isfinite(x) and math.isfinite(y)], line.dots)
        for line in lines
    ]
    drawn = [Line(line.name, _thinned(line.points), line.dots) for line in cleaned if line.points]
    if not drawn:
        return Markup("")
    frame = frame or _frame_of(drawn, from_zero=from_zero)
    body = _axes(frame, x_label, y_label)
    for number, line in enumerate(drawn):
        body += _curve(frame.place(line.points), number % 6, line)
    return _figure(title, WIDTH, HEIGHT, body) + _legend([line.name for line in drawn])


def _frame_of(lines: Sequence[Line], *, from_zero: bool) -> Frame:
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points] + ([0.0] if from_zero else [])
    low, high = min(ys), max(ys)
    return Frame(min(xs), max(xs), low, high if high > low else low + 1)


def _axes(frame: Frame, x_label: str, y_label: str) -> Markup:
    body = Markup("")
    for tick in _ticks(frame.y_low, frame.y_high):
        y = frame.place([(frame.x_low, tick)])[0][1]
        body += Markup('<line class="grid" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>').format(
            a=LEFT, b=WIDTH - RIGHT, y=_n(y)
        )
        body += _text(LEFT - 6, y + 4, _label(tick), anchor="end")
    for tick in _ticks(frame.x_low, frame.x_high):
        x = frame.place([(tick, frame.y_low)])[0][0]
        body += _text(x, HEIGHT - BOTTOM + 14, _label(tick), anchor="middle")
    body += _text(WIDTH - RIGHT, HEIGHT - 4, x_label, anchor="end", kind="axis")
    return body + _text(4, TOP - 12, y_label, kind="axis")


def _curve(at: Sequence[tuple[float, float]], number: int, line: Line) -> Markup:
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in at)
    body = Markup('<polyline class="line s{n}" points="{p}"/>').format(n=number, p=path)
    if line.dots or len(at) == 1:
        for x, y in at:
            body += Markup('<circle class="dot s{n}" cx="{x}" cy="{y}" r="3"/>').format(
                n=number, x=_n(x), y=_n(y)
            )
    return body


def _legend(names: Sequence[str]) -> Markup:
    items = Markup("").join(
        Markup(
            '<li><svg viewBox="0 0 24 8"><line class="line s{n}" x1="0" x2="24" y1="4" y2="4"/></svg>{t}</li>'
        ).format(n=number % 6, t=name)
        for number, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)


def bar_chart(title: str, bars: Sequence[Bar], *, unit: str = "") -> Markup:
    """Draw horizontal bars with their values written behind them."""
    if not bars:
        return Markup("")
    left, row = 210, 22
    most = max(bar.value for bar in bars) or 1
    scale = (WIDTH - left - 150) / most
    body = Markup("")
    for number, bar in enumerate(bars):
        y = number * row
        body += _text(left - 8, y + 15, _shortened(bar.label, 32), anchor="end")
        body += Markup('<rect class="bar" x="{x}" y="{y}" width="{w}" height="14" rx="2"/>').format(
            x=left, y=_n(y + 4), w=_n(max(1.0, bar.value * scale))
        )
        value = f"{bar.value:,.0f}" if bar.value >= 100 else f"{bar.value:.3g}"
        note = f"  {bar.note}" if bar.note else ""
        body += _text(left + bar.value * scale + 6, y + 15, f"{value}{unit}{note}")
    return _figure(title, WIDTH, len(bars) * row + 4, body)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]
) -> Markup:
    """Draw a matrix; the darkness of a cell is its share of its row, its number is in its tooltip."""
    if not rows or not columns:
        return Markup("")
    cell = max(7.0, min(20.0, (WIDTH - 70) / len(columns)))
    width, height = 60 + cell * len(columns) + 4, 40 + cell * len(rows) + 4
    body = Markup("")
    for i, name in enumerate(rows):
        total = sum(values[i]) or 1
        body += _text(54, 40 + (i + 0.75) * cell, _shortened(name, 8), anchor="end", kind="tiny")
        for j, column in enumerate(columns):
            if values[i][j]:
                body += Markup(
                    '<rect class="{k}" x="{x}" y="{y}" width="{s}" height="{s}" opacity="{o}"><title>{t}</title></rect>'
                ).format(
                    k="heat good" if name == column else "heat bad",
                    x=_n(60 + j * cell),
                    y=_n(40 + i * cell),
                    s=_n(cell - 1),
                    o=_n(max(0.15, values[i][j] / total)),
                    t=f"labelled {name}, found {column}: {values[i][j]:g}",
                )
    for j, name in enumerate(columns):
        x = 60 + (j + 0.7) * cell
        body += Markup('<text class="tiny" transform="translate({x} 36) rotate(-60)">{t}</text>').format(
            x=_n(x), t=_shortened(name, 8)
        )
    return _figure(title, width, height, body)


def timeline(title: str, rows: Sequence[str], spans: Sequence[ChartSpan], kinds: Sequence[str]) -> Markup:
    """Draw what each worker did when; gaps are idle time."""
    if not spans:
        return Markup("")
    first, last = min(span.start for span in spans), max(span.stop for span in spans)
    scale = (WIDTH - 120 - RIGHT) / ((last - first) or 1)
    row = 18
    height = len(rows) * row + 30
    body = Markup("")
    for number, name in enumerate(rows):
        body += _text(112, number * row + 13, _shortened(name, 16), anchor="end", kind="tiny")
    for span in spans:
        body += Markup(
            '<rect class="span k{k}" x="{x}" y="{y}" width="{w}" height="12"><title>{t}</title></rect>'
        ).format(
            k=span.kind % 6,
            x=_n(120 + (span.start - first) * scale),
            y=span.row * row + 3,
            w=_n(max(0.5, (span.stop - span.start) * scale)),
            t=span.title,
        )
    for tick in _ticks(0, last - first):
        body += _text(120 + tick * scale, height - 8, f"{_label(tick)} s", anchor="middle")
    legend = Markup("").join(
        Markup('<li><span class="swatch k{n}"></span>{t}</li>').format(n=number % 6, t=name)
        for number, name in enumerate(kinds)
    )
    return _figure(title, WIDTH, height, body) + Markup('<ul class="legend">{}</ul>').format(legend)


def image(svg: str, title: str) -> Markup:
    """Embed a drawing of an artifact as an image, where no script of it could run."""
    import base64

    data = base64.b64encode(svg.encode()).decode()
    return Markup('<img class="drawing" alt="{t}" src="data:image/svg+xml;base64,{d}">').format(
        t=escape(title), d=data
    )
