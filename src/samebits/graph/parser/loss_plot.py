"""loss.svg: the loss of training and validation over the steps, on a logarithmic scale; the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["draw_losses"]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 60, 16, 36, 40
MOST_POINTS = 600
LEAST_LOSS = 1e-4  # what is drawn for a loss below it: a logarithm has no zero


def draw_losses(losses: Sequence[float], validations: Sequence[tuple[int, float]]) -> str:
    """Return the drawing.

    Args:
        losses: Training loss of each step, from 0.
        validations: (steps done, loss).
    """
    train = _means(losses)
    heights = [math.log10(max(loss, LEAST_LOSS)) for _, loss in [*train, *validations]] or [0.0, 1.0]
    low, high = math.floor(min(heights)), math.ceil(max(heights))
    high = max(high, low + 1)
    last = max(len(losses), 1)

    def place(step: float, loss: float) -> tuple[float, float]:
        share = (math.log10(max(loss, LEAST_LOSS)) - low) / (high - low)
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share

    def line(points: Sequence[tuple[float, float]], style: str) -> str:
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        return f'<polyline points="{path}" fill="none" {style}/>'

    body = [_decade(exponent, place(0, 10.0**exponent)[1]) for exponent in range(low, high + 1)]
    body.append(line([place(step, loss) for step, loss in train], 'stroke="#4a6f93" stroke-width="1"'))
    dots = [place(step, loss) for step, loss in validations]
    body.append(line(dots, 'stroke="#b3331d" stroke-width="2" stroke-dasharray="6 3"'))
    body += [f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3" fill="#b3331d"/>' for x, y in dots]
    body.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 12}" text-anchor="end">step {len(losses)}</text>'
        f'<text x="{LEFT}" y="20">loss: training (blue line), validation (red dashes)</text>'
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', *body, "</svg>"]) + "\n"


def _decade(exponent: int, y: float) -> str:
    return (
        f'<path d="M{LEFT},{y:.2f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.2f}" text-anchor="end">{10.0**exponent:g}</text>'
    )


def _means(losses: Sequence[float]) -> list[tuple[float, float]]:
    """Return (middle of the run, mean loss) of equal runs of steps, one a pixel."""
    size = max(1, -(-len(losses) // MOST_POINTS))
    runs = [(start, losses[start : start + size]) for start in range(0, len(losses), size)]
    return [(start + (len(run) + 1) / 2, sum(run) / len(run)) for start, run in runs]
