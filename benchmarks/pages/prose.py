"""Keep the figures in prose equal to the records.

``figures.toml`` names, for each sentence with a measured figure, the page, the words around the figures with ``{}`` for
each of them (``{word}`` for words that a record holds), and the place of each in a record. The pages themselves stay plain text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages.records import show_like, value_of

__all__ = ["FIGURES", "Sentence", "differing", "refresh", "sentences"]

FIGURES = Path(__file__).with_name("figures.toml")
PATTERNS = {"{}": r"(-?\d[\d,]*(?:\.\d+)?)", "{word}": r"([a-z][a-z' ]*)"}
PLACE = re.compile(r"(\{\}|\{word\})")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words of a page with ``{}`` for each figure, and where each figure comes from (``record path``)."""

    page: str
    words: str
    sources: tuple[str, ...]

    def pattern(self) -> re.Pattern[str]:
        """Match the words in a page, wherever its lines break, with a group per figure."""
        parts = [
            PATTERNS.get(part) or r"\s+".join(map(re.escape, part.split(" ")))
            for part in PLACE.split(self.words)
        ]
        return re.compile("".join(parts))

    def figures(self, shown: tuple[str, ...]) -> list[str]:
        """Return the figures as the records have them, written like those shown."""
        found = []
        for source, like in zip(self.sources, shown, strict=True):
            value = _value(source)
            found.append(value if isinstance(value, str) else show_like(value, like))
        return found


def _value(source: str) -> float | str:
    """Return the value of a ``record path``, in millions for one that ends in " in MB"."""
    place = source.removesuffix(" in MB")
    value = value_of(*place.split(" ", 1))
    if isinstance(value, str):
        return value
    return float(value) if place == source else float(value) / 1e6


def sentences() -> Iterator[Sentence]:
    """Return all sentences with figures."""
    for page, rows in tomllib.loads(FIGURES.read_text(encoding="utf-8")).items():
        for row in rows:
            yield Sentence(page, row["words"], tuple(row["from"]))


def differing(sentence: Sentence, text: str) -> list[str]:
    """Return what is wrong with a sentence in the text of its page: not found, found twice, or other figures."""
    found = list(sentence.pattern().finditer(text))
    if len(found) != 1:
        return [f"{sentence.page}: {len(found)} places match {sentence.words!r}"]
    shown = found[0].groups()
    return [
        f"{sentence.page}: {source} is {right}, the page says {says}"
        for source, right, says in zip(sentence.sources, sentence.figures(shown), shown, strict=True)
        if right != says
    ]


def refresh(root: Path) -> list[str]:
    """Write the figures of the records into the pages; return the pages that changed."""
    changed = []
    for sentence in sentences():
        page = root / sentence.page
        text = page.read_text(encoding="utf-8")
        new = sentence.pattern().sub(lambda match, s=sentence: _put(match, s), text)  # type: ignore[misc]  # bound now
        if new != text:
            page.write_text(new, encoding="utf-8")
            changed.append(sentence.page)
    return sorted(set(changed))


def _put(match: re.Match[str], sentence: Sentence) -> str:
    text, end = "", match.start()
    for group, figure in enumerate(sentence.figures(match.groups()), start=1):
        text += match.string[end : match.start(group)] + figure
        end = match.end(group)
    return text + match.string[end : match.end()]
