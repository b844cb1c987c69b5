"""Graphs and edits as SVG: what stays is grey, what goes red and dashed, what comes green with a plus, relabelled orange.

Colour is never the only sign, so a picture can be read without it. Coordinates have two decimals, labels are escaped and no
font is embedded: one pair of graphs gives the same bytes everywhere.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from samebits.graph.data import Graph, Label
from samebits.graph.pictures.layout import Point, place_nodes

__all__ = ["Item", "draw_edits", "draw_graph"]

State = Literal["kept", "deleted", "inserted", "relabelled"]
COLOURS: dict[State, str] = {
    "kept": "#777777",
    "deleted": "#c0392b",
    "inserted": "#1e8449",
    "relabelled": "#b9770e",
}
DASHES: dict[State, str] = {
    "kept": "",
    "deleted": ' stroke-dasharray="6 4"',
    "inserted": "",
    "relabelled": "",
}
SIGNS: dict[State, str] = {"kept": "", "deleted": "−", "inserted": "+", "relabelled": "~"}
RADIUS = 16
MARGIN = 48
LONGEST = 24  # characters of a label; the whole of it is in the tooltip


@dataclass(frozen=True, slots=True)
class Item:
    """A node (one end) or an edge (two ends) of a picture."""

    ends: tuple[int, ...]
    state: State
    text: str


def draw_graph(graph: Graph) -> str:
    """Return a picture of one graph."""
    nodes = [Item((i,), "kept", _text(label)) for i, label in enumerate(graph.labels)]
    edges = [Item((u, v), "kept", _text(label)) for u, v, label in graph.triples]
    return _render(graph, nodes, edges, legend=False)


def draw_edits(a: Graph, b: Graph, mapping: Sequence[int | None]) -> str:
    """Return a picture of the edits that turn a into b along a mapping."""
    union, nodes, edges = _merge(a, b, mapping)
    return _render(union, nodes, edges, legend=True)


def _merge(a: Graph, b: Graph, mapping: Sequence[int | None]) -> tuple[Graph, list[Item], list[Item]]:
    """Lay b over a: nodes of a keep their numbers, inserted ones follow."""
    number = {j: i for i, j in enumerate(mapping) if j is not None}
    fresh = [j for j in range(len(b)) if j not in number]
    number.update({j: len(a) + k for k, j in enumerate(fresh)})
    nodes = [_changed((i,), label, b.labels[j], a_has=True, b_has=True) if j is not None
             else _changed((i,), label, None, a_has=True, b_has=False)
             for i, (label, j) in enumerate(zip(a.labels, mapping, strict=True))]  # fmt: skip
    nodes += [_changed((number[j],), None, b.labels[j], a_has=False, b_has=True) for j in fresh]
    old = {(u, v): label for u, v, label in a.triples}
    new: dict[tuple[int, int], Label] = {}
    for u, v, label in b.triples:
        x, y = number[u], number[v]
        new[(x, y) if a.directed or b.directed or x <= y else (y, x)] = label
    keys = sorted({*old, *new})
    edges = [_changed(key, old.get(key), new.get(key), a_has=key in old, b_has=key in new) for key in keys]
    places = [*a.at, *(b.at[j] for j in fresh)] if a.at and b.at else ()
    union = Graph(
        labels=[None] * len(nodes),
        edges=[(u, v) for u, v in keys],
        directed=a.directed or b.directed,
        at=places,
    )
    return union, nodes, edges


def _changed(ends: tuple[int, ...], old: Label, new: Label, *, a_has: bool, b_has: bool) -> Item:
    if a_has and b_has:
        if old == new:
            return Item(ends, "kept", _text(old))
        return Item(ends, "relabelled", f"{_text(old) or 'none'}→{_text(new) or 'none'}")
    return Item(ends, "deleted", _text(old)) if a_has else Item(ends, "inserted", _text(new))


def _text(label: Label) -> str:
    return "" if label is None else str(label)


def _render(graph: Graph, nodes: list[Item], edges: list[Item], *, legend: bool) -> str:
    layout = place_nodes(graph)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    points = [(x + MARGIN, y + MARGIN) for x, y in layout.points]
    width = max(width, 420.0) if legend else width
    body = [_edge(item, points, directed=graph.directed, arcs=layout.on_a_line) for item in edges]
    body += [_node(item, points[item.ends[0]]) for item in nodes]
    if legend:
        body += _legend(height)
        height += 24
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_number(width)}" height="{_number(height)}" '
        f'viewBox="0 0 {_number(width)} {_number(height)}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *_arrows(graph.directed), *body, "</svg>"]) + "\n"


def _arrows(directed: bool) -> list[str]:
    if not directed:
        return []
    return [
        f'<marker id="{state}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for state, colour in COLOURS.items()
    ]


def _edge(item: Item, points: list[Point], *, directed: bool, arcs: bool) -> str:
    (x1, y1), (x2, y2) = points[item.ends[0]], points[item.ends[1]]
    if item.ends[0] == item.ends[1]:
        path = f"M{_number(x1 - 8)} {_number(y1 - RADIUS)}c-14 -28 30 -28 16 0"
        middle = (x1, y1 - RADIUS - 26)
    elif arcs:
        rise = (abs(x2 - x1) / 2 + 14) * (1 if item.state == "inserted" else -1)
        edge = RADIUS if rise > 0 else -RADIUS
        path = (
            f"M{_number(x1)} {_number(y1 + edge)}C{_number(x1)} {_number(y1 + rise)} "
            f"{_number(x2)} {_number(y2 + rise)} {_number(x2)} {_number(y2 + edge)}"
        )
        middle = ((x1 + x2) / 2, y1 + edge / 4 + rise * 0.75)
    else:
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
        dx, dy = (x2 - x1) / length * RADIUS, (y2 - y1) / length * RADIUS
        side = 5.0 if directed else 0.0  # two directions between two nodes lie beside each other
        ox, oy = -dy / RADIUS * side, dx / RADIUS * side
        path = f"M{_number(x1 + dx + ox)} {_number(y1 + dy + oy)}L{_number(x2 - dx + ox)} {_number(y2 - dy + oy)}"
        middle = ((x1 + x2) / 2 + ox, (y1 + y2) / 2 + oy - 4)
    marker = f' marker-end="url(#{item.state})"' if directed else ""
    colour = COLOURS[item.state]
    line = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{DASHES[item.state]}{marker}/>'
    return line + _label(item, middle)


def _node(item: Item, at: Point) -> str:
    colour = COLOURS[item.state]
    circle = (
        f'<circle cx="{_number(at[0])}" cy="{_number(at[1])}" r="{RADIUS}" fill="#ffffff" stroke="{colour}" '
        f'stroke-width="2"{DASHES[item.state]}/>'
    )
    return circle + _label(item, (at[0], at[1] + 4))


def _label(item: Item, at: Point) -> str:
    text = SIGNS[item.state] + item.text
    if not text:
        return ""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    tip = f"<title>{_escaped(f'{item.state}: {item.text}')}</title>" if shown != text else ""
    return (
        f'<text x="{_number(at[0])}" y="{_number(at[1])}" text-anchor="middle" fill="{COLOURS[item.state]}">'
        f"{tip}{_escaped(shown)}</text>"
    )


def _legend(height: float) -> list[str]:
    words = {"kept": "kept", "deleted": "− deleted", "inserted": "+ inserted", "relabelled": "~ old→new"}
    return [
        f'<text x="{16 + 100 * k}" y="{_number(height + 8)}" fill="{COLOURS[state]}">{word}</text>'
        for k, (state, word) in enumerate((state, words[state]) for state in COLOURS)
    ]


def _number(value: float) -> str:
    """Write a coordinate with at most two decimals and no negative zero."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _escaped(text: str) -> str:
    """Escape for XML; what XML cannot hold (control characters, lone surrogates) becomes U+FFFD."""
    clean = "".join(
        c
        if c in "\t\n" or (ord(c) >= 32 and not 0xD800 <= ord(c) < 0xE000 and ord(c) not in (0xFFFE, 0xFFFF))
        else "\ufffd"
        for c in text
    )
    return html.escape(clean)
