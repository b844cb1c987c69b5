"""loss.svg: the loss of every step and of every validation, drawn from the two logs; the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["draw_losses"]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 32, 44
MOST_POINTS = 700  # one a pixel
TICKS = 5


def draw_losses(losses: Sequence[float], validations: Sequence[tuple[int, float]]) -> str:
    """Return the drawing.

    Args:
        losses: Training loss of each step, from 0.
        validations: (steps done, loss).
    """
    train = [(step + 1.0, loss) for step, loss in _thinned(losses)]
    points = [*train, *((float(step), loss) for step, loss in validations)]
    last = max((x for x, _ in points), default=1.0)
    low = min((y for _, y in points), default=0.0)
    high = max((y for _, y in points), default=1.0)
    low, high = low - 0.02 * (high - low or 1), high + 0.02 * (high - low or 1)

    def place(x: float, y: float) -> str:
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / last
        return f"{across:.1f},{TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_axes(last, low, high),
        f'<polyline fill="none" stroke="#9db4c8" stroke-width="1" points="{" ".join(place(*p) for p in train)}"/>',
        f'<polyline fill="none" stroke="#b3331d" stroke-width="2" '
        f'points="{" ".join(place(step, loss) for step, loss in validations)}"/>',
        *(
            f'<circle cx="{c[0]}" cy="{c[1]}" r="3" fill="#b3331d"/>'
            for c in (place(*v).split(",") for v in validations)
        ),
        f'<text x="{LEFT}" y="18">loss by step: training (grey), validation (red)</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _thinned(losses: Sequence[float]) -> list[tuple[float, float]]:
    """Return means over equal runs of steps, at most ``MOST_POINTS`` of them, each at the middle of its run."""
    size = -(-len(losses) // MOST_POINTS) or 1
    runs = [losses[i : i + size] for i in range(0, len(losses), size)]
    return [(number * size + (len(run) - 1) / 2, sum(run) / len(run)) for number, run in enumerate(runs)]


def _axes(last: float, low: float, high: float) -> list[str]:
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [f'<path d="M{LEFT},{TOP}V{floor}H{right}" fill="none" stroke="#444"/>']
    for tick in range(TICKS + 1):
        share = tick / TICKS
        x, y = LEFT + (right - LEFT) * share, floor - (floor - TOP) * share
        out.append(f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{last * share:.0f}</text>')
        value = low + (high - low) * share
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        out.append(f'<path d="M{LEFT},{y:.1f}H{right}" stroke="#eee"/>')
    return out
