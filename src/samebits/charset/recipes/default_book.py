"""The recipes of samebits' own: what people wrote when a page lacked a character.

A character the page has stays. Otherwise, in this order: a letter whose marks can be split off (Vietnamese tones
on cp1258), a compatibility equivalent, the same letter or sign under another code point (Romanian comma and
cedilla, Persian and Arabic kaf, Ukrainian і as Latin i), plain ASCII punctuation. What is still missing is dropped
and reported; no accents are stripped, because a model of text nobody wrote is worse than a gap.
"""

from __future__ import annotations

import functools
import html
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from samebits.charset.codec import canonical_name, encodable
from samebits.charset.recipes.recipe import PLACEHOLDER, Order, Recipe
from samebits.charset.recipes.rtl import glyph_fallbacks, join_arabic, to_visual
from samebits.charset.recipes.serbian import serbian_to_latin

__all__ = ["DefaultBook"]

#: One letter or sign, two code points; used in whichever direction the page needs.
_TWINS = (
    *zip("ȘșȚț", "ŞşŢţ", strict=True),  # Romanian: comma below is right, the cedilla is what most pages have
    *zip("کیىہھۃ", "كييههة", strict=True),  # Persian and Urdu letters and the Arabic ones they continue
    *zip("іІјЈѕЅґҐ", "iIjJsSгГ", strict=True),  # Cyrillic letters that Russian pages lack, as they were typed
)
_SIGNS = {
    **dict.fromkeys("‘’‚‛′ʼ‹›", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict(zip("،؛؟٪٫٬۔•·", ",;?%.,.**", strict=True)),
}
#: Pages that store joined letter forms; cp864 text was stored as the screen showed it.
_SHAPED: dict[str, tuple[Order, ...]] = {"cp864": ("visual",), "cp1006": ("logical",)}
#: Hebrew web pages of this encoding came in both orders.
_BOTH_ORDERS = frozenset({"iso8859-8"})
_PAGE_TEXTS = 20
_PAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class DefaultBook:
    """Recipes for every language and codec; see the module for the rules."""

    identity: str = "default.v1"

    def recipe(self, language: str, encoding: str, codec: str) -> Recipe:
        """The recipe of one pair."""
        name = canonical_name(codec)
        shaped = name in _SHAPED
        orders: tuple[Order, ...] = ("logical", "visual") if name in _BOTH_ORDERS else ("logical",)
        return Recipe(
            language=language,
            encoding=encoding,
            codec=codec,
            substitute=functools.partial(_plain_form if shaped else equivalent, codec=codec),
            orders=_SHAPED.get(name, orders),
            before=serbian_to_latin if language == "sr" and not encodable("ж", codec) else None,
            after=_composed if name == "cp1258" else None,
            shape=join_arabic if shaped else None,
            glyph=_glyph_for(codec) if shaped else None,
            visual=to_visual,
        )

    def markup(self, language: str, texts: Sequence[str]) -> list[str]:
        """Small web pages made from the first texts: markup is part of what detectors are shown."""
        return [_page(language, text[:_PAGE_CHARS]) for text in texts[:_PAGE_TEXTS]]


def _page(language: str, text: str) -> str:
    title, _, _ = text.partition("\n")
    body = html.escape(text, quote=False).replace("\n", "</p>\n<p>")
    return (
        f'<html lang="{language}">\n<head>\n<meta http-equiv="Content-Type" content="text/html; charset={PLACEHOLDER}">\n'
        f"<title>{html.escape(title[:60], quote=False)}</title>\n</head>\n<body>\n<p>{body}</p>\n</body>\n</html>\n"
    )


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def equivalent(char: str, codec: str) -> str:
    """What to write for a character; the character itself when there is nothing, so that it is dropped."""
    if encodable(char, codec):
        return char
    for candidate in (
        *_split_marks(char),
        unicodedata.normalize("NFKC", char),
        *_same_letter(char),
        _plain_sign(char),
    ):
        if candidate and candidate != char and all(encodable(part, codec) for part in candidate):
            return candidate
    return char


def _split_marks(char: str) -> list[str]:
    """The letter with one of its marks split off, for every mark: the tone is not always the last one."""
    parts = unicodedata.normalize("NFD", char)
    return [
        unicodedata.normalize("NFC", parts[:i] + parts[i + 1 :]) + parts[i]
        for i in range(len(parts) - 1, 0, -1)
    ]


def _same_letter(char: str) -> list[str]:
    """Twins of a letter: the second for the first, and back where both are letters of the script."""
    forward = [second for first, second in _TWINS if first == char]
    return forward + [first for first, second in _TWINS if second == char and not second.isascii()]


def _plain_sign(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    digit = unicodedata.digit(char, None)
    if digit is not None and char.isdecimal():
        return str(digit)
    return {"Pd": "-", "Zs": " "}.get(unicodedata.category(char), "")


def _plain_form(char: str, codec: str) -> str:
    """Before shaping letters keep their code points; only signs are replaced."""
    if encodable(char, codec) or char.isalpha():
        return char
    return equivalent(char, codec)


def _glyph_for(codec: str) -> Callable[[str], str]:
    """What a page with joined forms holds for one shaped letter."""

    def glyph(char: str) -> str:
        if encodable(char, codec):
            return char
        base = unicodedata.normalize("NFKC", char)
        twins = [join_arabic(twin) for twin in _same_letter(base)]
        options = (*glyph_fallbacks(char), *twins, *(alt for twin in twins for alt in glyph_fallbacks(twin)))
        for option in (*options, "".join(equivalent(part, codec) for part in base)):
            if all(encodable(part, codec) for part in option):
                return option
        return char

    return glyph
