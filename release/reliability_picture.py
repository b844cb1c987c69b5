"""Draw how far langid's probabilities can be trusted, from the record of ``benchmarks/langid_world.py``.

``python -m release.reliability_picture`` writes ``docs/pictures/reliability.svg``: for texts named with a probability around p,
how many are right. On the diagonal a probability is what it says; above it the model is surer than it dares to say. Points of
fewer than 30 texts are left out: they say more about chance.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
RECORD = REPO / "benchmarks" / "records" / "langid_world.json"
PICTURE = REPO / "docs" / "pictures" / "reliability.svg"
SIZE, LEFT, TOP, RIGHT = 300, 52, 16, 28
LEAST_TEXTS = 30
COLOURS = {"sentences": "#0b5cad", "pairs": "#1a7f37", "words": "#bf5700"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#57606a}.grid{stroke:#8c959f;stroke-width:.6;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#9da7b3}.grid{stroke:#9da7b3}}"
)


def main() -> None:
    """Draw the sets of the first held-out source."""
    curves = json.loads(RECORD.read_text(encoding="utf-8"))["details"]["reliability"]
    PICTURE.write_text(draw({kind: curves[kind] for kind in COLOURS}), encoding="utf-8")


def draw(curves: dict[str, Any]) -> str:
    """Return the picture of some curves, by kind of text."""
    parts = [f'<rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}" class="grid"/>']
    parts.append(f'<path d="M{LEFT} {TOP + SIZE}L{LEFT + SIZE} {TOP}" class="grid"/>')
    for tenth in (0, 5, 10):
        x, y = _place(tenth / 10, tenth / 10)
        parts.append(f'<text x="{x}" y="{TOP + SIZE + 18}" text-anchor="middle">{10 * tenth}%</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10 * tenth}%</text>')
    for number, (kind, curve) in enumerate(curves.items()):
        points = [_place(one["said"], one["right"]) for one in curve["bins"] if one["texts"] >= LEAST_TEXTS]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour = COLOURS[kind]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in points]
        y = TOP + 20 + 20 * number
        parts.append(f'<circle cx="{LEFT + 14}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 24}" y="{y}">{kind}</text>')
    parts.append(
        f'<text x="{LEFT + SIZE / 2}" y="{TOP + SIZE + 38}" text-anchor="middle">probability said</text>'
    )
    parts.append(
        f'<text transform="translate(12 {TOP + SIZE / 2}) rotate(-90)" text-anchor="middle">right</text>'
    )
    width, height = LEFT + SIZE + RIGHT, TOP + SIZE + 48
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>Probabilities said by langid, and how often it was right</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _place(said: float, right: float) -> tuple[float, float]:
    return LEFT + SIZE * said, TOP + SIZE * (1 - right)


if __name__ == "__main__":
    main()
