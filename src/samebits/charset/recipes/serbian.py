"""Serbian Cyrillic to Latin: the language uses both scripts, and legacy Latin pages hold the second."""

from __future__ import annotations

import re

__all__ = ["serbian_to_latin"]

_CYRILLIC = "абвгдђежзијклмнопрстћуфхцчш"
_LATIN = "abvgdđežzijklmnoprstćufhcčš"
_DIGRAPHS = {"љ": "lj", "њ": "nj", "џ": "dž"}
_TABLE = str.maketrans(
    dict(zip(_CYRILLIC, _LATIN, strict=True))
    | dict(zip(_CYRILLIC.upper(), _LATIN.upper(), strict=True))
    | _DIGRAPHS
    | {letter.upper(): pair.capitalize() for letter, pair in _DIGRAPHS.items()}
)
_CAPITAL_DIGRAPH = re.compile("[ЉЊЏ]")


def _capitals(match: re.Match[str]) -> str:
    """Both letters capital inside a word in capitals: the next letter decides, at a word's end the one before."""
    text, start, stop = match.string, match.start(), match.end()
    after, before = text[stop : stop + 1], text[start - 1 : start] if start else ""
    pair = _DIGRAPHS[match.group().lower()]
    return (
        pair.upper() if after.isupper() or (not after.islower() and before.isupper()) else pair.capitalize()
    )


def serbian_to_latin(text: str) -> str:
    """Transliterate; other text stays.

    >>> serbian_to_latin("Љубав, ЉУБАВ, УЧИТЕЉ, Џеп")
    'Ljubav, LJUBAV, UČITELJ, Džep'
    """
    return _CAPITAL_DIGRAPH.sub(_capitals, text).translate(_TABLE)
