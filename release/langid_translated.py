"""Rows of translated words, for the rows that the model of the package is trained on (``release/langid_rows``).

wordfreq has no list for Nynorsk and none for Afrikaans. Apertium knows the words of their near languages and translates the lists of Bokmål
and Dutch, word by word: each word counts as often as the one it stands for, and words that Apertium does not know are left out.
Its data are under the GPL and not in the repository. Debian 12 has it: ``apt-get install apertium-nno-nob apertium-afr-nld``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from release.langid_words import listed, rows_of

__all__ = ["translated_rows"]


class Translation(NamedTuple):
    """From which list, into which language, by which mode of Apertium, and the sha256 of what it writes."""

    source: str
    target: str
    mode: str
    sha256: str


TRANSLATIONS = (
    Translation("nb", "nn", "nob-nno_e", "46ab949cee983f04b47c6292228b42902265c75097f749c334cc888c90ebe31e"),
    Translation("nl", "af", "nld-afr", "e23a1b942207a40fbbb9aa879219c48bbf88f67fa57f6dcdc07eef7da465982b"),
)
UNKNOWN = ("*", "@", "#")  # how Apertium marks a word that it could not translate or form
BETWEEN = "\n\n"


def translated_rows(wheel: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of all translations of lists in the wheel of wordfreq."""
    for one in TRANSLATIONS:
        words, counts = listed(wheel, one.source)
        yield from rows_of(one.target, *known(words, counts, translate(one, words)))


def translate(one: Translation, words: list[str]) -> list[str]:
    """Let Apertium translate a list; refuse what another version makes of it."""
    if shutil.which("apertium") is None:
        sys.exit("apertium is not installed\nhint: apt-get install apertium-nno-nob apertium-afr-nld")
    text = (BETWEEN.join(words) + "\n").encode()
    written = subprocess.run(["apertium", one.mode], input=text, check=True, capture_output=True).stdout
    found = hashlib.sha256(written).hexdigest()
    if found != one.sha256:
        sys.exit(f"apertium {one.mode} wrote text of sha256 {found}, not {one.sha256}")
    return [word.strip() for word in written.decode().split(BETWEEN)]


def known(words: list[str], counts: list[int], translated: list[str]) -> tuple[list[str], list[int]]:
    """Return the words that were translated, in small letters where the given one is, and their counts.

    >>> known(["saken", "agder", "USA", "fortsetter"], [3, 2, 1, 1], ["saka", "*agder", "USA", "Held fram"])
    (['saka', 'USA', 'held fram'], [3, 1, 1])
    """
    pairs = [
        (new.lower() if old.islower() else new, count)
        for old, new, count in zip(words, translated, counts, strict=True)
        if new and not new.startswith(UNKNOWN)
    ]
    return [word for word, _ in pairs], [count for _, count in pairs]
