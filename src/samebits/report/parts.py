"""What sections are made of: a title, paragraphs, tables. Everything that comes from data is escaped here, by markupsafe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Section", "bold", "details", "heading", "join", "paragraph", "quote", "table"]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page."""

    key: str
    title: str
    body: Markup


def join(pieces: Iterable[Markup]) -> Markup:
    """Put fragments together."""
    return Markup("").join(pieces)


def paragraph(text: str | Markup) -> Markup:
    """A paragraph."""
    return Markup("<p>{}</p>").format(text)


def heading(text: str) -> Markup:
    """A heading below a section's title."""
    return Markup("<h3>{}</h3>").format(text)


def bold(text: str) -> Markup:
    """A word that matters."""
    return Markup("<strong>{}</strong>").format(text)


def quote(text: str) -> Markup:
    """Text as it is, line ends kept."""
    return Markup("<pre>{}</pre>").format(text)


def details(summary: str, body: Markup) -> Markup:
    """Something to open by mouse or keyboard."""
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, body)


def table(head: Sequence[str], rows: Iterable[Sequence[str | int | float | Markup | None]]) -> Markup:
    """A table; numbers are set to the right."""
    top = join(Markup("<th scope=col>{}</th>").format(name) for name in head)
    body = join(Markup("<tr>{}</tr>").format(join(map(_cell, row))) for row in rows)
    return Markup(
        '<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(top, body)


def _cell(value: str | int | float | Markup | None) -> Markup:
    if value is None:
        return Markup("<td>–</td>")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Markup("<td>{}</td>").format(value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return Markup('<td class="number">{}</td>').format(text)
