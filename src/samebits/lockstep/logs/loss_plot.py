"""loss.svg: the loss of every step and of every validation; the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from samebits.arithmetic.matrices import total

__all__ = ["Scale", "draw_losses"]

Scale = Literal["linear", "log"]
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 32, 44
MOST_POINTS = 700  # one per pixel
TICKS = 5
LEAST_LOSS = 1e-4  # what a logarithmic scale draws for a loss below it: a logarithm has no zero
TRAINING, VALIDATION = "#4a6f93", "#b3331d"


class _Axis(NamedTuple):
    """Heights from ``low`` to ``high``; logarithms to base 10 if ``scale`` is ``log``."""

    low: float
    high: float
    scale: Scale

    def height(self, loss: float) -> float:
        """Where a loss is drawn."""
        value = math.log10(max(loss, LEAST_LOSS)) if self.scale == "log" else loss
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - value) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """The losses that get a line and a number."""
        if self.scale == "log":
            return [10.0**exponent for exponent in range(int(self.low), int(self.high) + 1)]
        return [self.low + (self.high - self.low) * tick / TICKS for tick in range(TICKS + 1)]


def draw_losses(
    losses: Sequence[float], validations: Sequence[tuple[int, float]], *, scale: Scale = "linear"
) -> str:
    """Return the drawing.

    Args:
        losses: Training loss of each step, from 0.
        validations: (steps done, loss).
        scale: ``log`` where losses fall by powers of ten.
    """
    train = [(step + 1.0, loss) for step, loss in _thinned(losses)]
    dots = [(float(step), loss) for step, loss in validations]
    last = max((x for x, _ in [*train, *dots]), default=1.0)
    axis = _axis([loss for _, loss in [*train, *dots]], scale)

    def place(x: float, y: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * x / last:.1f},{axis.height(y):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_grid(last, axis),
        f'<polyline fill="none" stroke="{TRAINING}" points="{" ".join(place(*p) for p in train)}"/>',
        f'<polyline fill="none" stroke="{VALIDATION}" stroke-width="2" stroke-dasharray="6 3" '
        f'points="{" ".join(place(*p) for p in dots)}"/>',
        *(
            f'<circle cx="{c[0]}" cy="{c[1]}" r="3" fill="{VALIDATION}"/>'
            for c in (place(*p).split(",") for p in dots)
        ),
        f'<text x="{LEFT}" y="18">loss by step: training (blue line), validation (red dashes)</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _axis(losses: Sequence[float], scale: Scale) -> _Axis:
    low, high = min(losses, default=0.0), max(losses, default=1.0)
    if scale == "linear":
        margin = 0.02 * (high - low or 1)
        return _Axis(low - margin, high + margin, scale)
    low, high = (math.log10(max(loss, LEAST_LOSS)) for loss in (low, high))
    return _Axis(math.floor(low), max(math.ceil(high), math.floor(low) + 1), scale)


def _thinned(losses: Sequence[float]) -> list[tuple[float, float]]:
    """Return means over equal runs of steps, at most ``MOST_POINTS`` of them, each at the middle of its run."""
    size = -(-len(losses) // MOST_POINTS) or 1
    runs = [losses[i : i + size] for i in range(0, len(losses), size)]
    return [(number * size + (len(run) - 1) / 2, total(run) / len(run)) for number, run in enumerate(runs)]


def _grid(last: float, axis: _Axis) -> list[str]:
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<path d="M{LEFT},{TOP}V{floor}H{right}" fill="none" stroke="#444"/>']
    for tick in range(TICKS + 1):
        x = LEFT + (right - LEFT) * tick / TICKS
        out.append(
            f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{last * tick / TICKS:.0f}</text>'
        )
    for loss in axis.ticks():
        y = axis.height(loss)
        shown = f"{loss:.2f}" if axis.scale == "linear" else f"{loss:g}"
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>')
        out.append(f'<path d="M{LEFT},{y:.1f}H{right}" stroke="#eee"/>')
    return out
