"""The text a script's models are trained on: as it is written, and as legacy pages wrote it."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from samebits.charset.characters.inventory import SCRIPTS, script_number
from samebits.charset.recipes.default_book import equivalent
from samebits.charset.recipes.serbian import serbian_to_latin

__all__ = ["in_script", "variants"]

#: One text in this many is added in capitals: headlines, and files that know nothing else.
CAPITALS_EVERY = 25
#: One text in this many is added as the screen shows it: some pages stored display order.
REVERSED_EVERY = 3
#: Interface texts are full of these; of texts that hold one, one in this many is used.
_SIGNS_OF_PROGRAMS = frozenset("[]{}<>\\^~_=$")
MARKUP_EVERY = 10
#: One text in this many is added as part of a page.
PAGES_EVERY = 16


@functools.cache
def _script_of(char: str) -> int:
    return script_number(ord(char))


def in_script(texts: Sequence[str], script: int) -> list[str]:
    """Texts more than half of whose letters are of a script.

    >>> in_script(["Добро", "dobro"], 1)
    ['Добро']
    """
    return [text for text in texts if _share(text, script) > 0.5]


def _share(text: str, script: int) -> float:
    letters = [char for char in text if char.isalpha()]
    return sum(_script_of(char) == script for char in letters) / len(letters) if letters else 0.0


def _cedillas(text: str) -> str:
    return text.translate(str.maketrans("ȘșȚț", "ŞşŢţ"))


def _commas(text: str) -> str:
    return text.translate(str.maketrans("ŞşŢţ", "ȘșȚț"))


@functools.cache
def _apart(char: str) -> str:
    return equivalent(char, "cp1258")


def _tones_apart(text: str) -> str:
    return "".join(map(_apart, unicodedata.normalize("NFC", text)))


_LEGACY: dict[str, Callable[[str], str]] = {"ro": _cedillas, "vi": _tones_apart}
_RIGHT_TO_LEFT = ("hebrew", "arabic")
_CASED = ("latin", "cyrillic", "greek")


def _plain(texts: Sequence[str]) -> Iterator[str]:
    """Texts as people write them; of those with the signs of programs and wikis only every tenth."""
    odd = 0
    for text in texts:
        if _SIGNS_OF_PROGRAMS.isdisjoint(text):
            yield text
        else:
            odd += 1
            if odd % MARKUP_EVERY == 0:
                yield text


#: How pages and letters use signs that sentences do not have; {0} is a text, {1} its first words.
_PAGES = (
    "{1} | {1} | {1}",
    "» {0}",
    "{1} » {1} » {0}",
    "• {0}",
    "© 2010 {1}. {0}",
    "{0} [1]",
    "[{1}] {0}",
    "“{0}”",
    "„{1}“ – {0}",
    "‘{1}’ — {0}",
    "«{1}» {0}",
    "{1}… {0}!",
    "{1}: 25 €, £9.99, 20 °C",
    "{1}® {1}™ § 12 {0}",
    "{1}’s {0}",
    "{0} – {1} · {1}",
)
_FIRST_WORDS = 3


def _pages(texts: Sequence[str]) -> Iterator[str]:
    """Some of the texts once more, as pages would show them."""
    for number, text in enumerate(texts[::PAGES_EVERY]):
        yield _PAGES[number % len(_PAGES)].format(text, " ".join(text.split()[:_FIRST_WORDS]))


def variants(language: str, script: int, texts: Sequence[str]) -> Iterator[str]:
    """A language's texts in one script, and the other forms in which files hold them."""
    own = list(_plain(in_script(texts, script)))
    if language == "ro":
        own = [_commas(text) for text in own]
    yield from own
    name = SCRIPTS[script].name
    if language == "sr" and name == "latin":
        transliterated = [serbian_to_latin(text) for text in in_script(texts, 1)]
        yield from transliterated
    if language in _LEGACY:
        yield from map(_LEGACY[language], own)
    yield from _pages(own)
    if name in _RIGHT_TO_LEFT:
        yield from (text[::-1] for text in own[::REVERSED_EVERY])
    if name in _CASED:
        yield from (text.upper() for text in own[::CAPITALS_EVERY])
