"""Which characters the detector tells apart, and the scripts and languages they belong to.

Every character has a *unit*: its own number when some single-byte encoding or some training text uses it often, else
the number of its class (control, symbol, letter of a script, Han ...). Characters that say nothing about an encoding share a
unit: all white space, all digits of one kind, the joined forms of an Arabic letter.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["CLASSES", "SCRIPTS", "Inventory", "Script", "class_of", "fold", "script_number"]


class Script(NamedTuple):
    """A writing system: its code points and the languages that are told apart in it."""

    name: str
    ranges: tuple[tuple[int, int], ...]
    languages: tuple[str, ...]


def _script(name: str, ranges: str, languages: str) -> Script:
    pairs = tuple(
        (int(low, 16), int(high, 16)) for low, _, high in (part.partition("-") for part in ranges.split())
    )
    return Script(name, pairs, tuple(languages.split()))


#: Languages that share a script are scored against one another; a script with one language names it at once.
SCRIPTS = (
    _script(
        "latin",
        "41-5A 61-7A AA-AA B5-B5 BA-BA C0-D6 D8-F6 F8-2AF 300-36F 1E00-1EFF FB00-FB06",
        "af az br ca cs cy da de en eo es et eu fi fo fr ga gd gl hr hu id is it lb lt lv ms mt nl no oc pl pt ro sk "
        "sl sq sr sv sw tl tr vi",
    ),
    _script("cyrillic", "400-52F", "ba be bg kk ky mk mn ru sr tg tt uk"),
    _script("greek", "370-3FF 1F00-1FFF", "el"),
    _script("hebrew", "591-5FF FB1D-FB4F", "he yi"),
    _script(
        "arabic",
        "60C-60C 61B-61B 61F-65F 66E-6EF 6FA-77F FB50-FDCF FDF0-FDFC FE70-FEFC",
        "ar ckb fa ps ug ur",
    ),
    _script("thai", "E00-E4F E5A-E7F", "th"),
    _script("devanagari", "900-965 970-97F", "hi mr ne"),
    _script("bengali", "980-9FF", "as bn"),
    _script("ethiopic", "1200-139F", "am ti"),
    _script("armenian", "530-58F", "hy"),
    _script("georgian", "10A0-10FF 1C90-1CBF 2D00-2D2F", "ka"),
    _script("gurmukhi", "A00-A7F", "pa"),
    _script("gujarati", "A80-AFF", "gu"),
    _script("oriya", "B00-B7F", "or"),
    _script("tamil", "B80-BFF", "ta"),
    _script("telugu", "C00-C7F", "te"),
    _script("kannada", "C80-CFF", "kn"),
    _script("malayalam", "D00-D7F", "ml"),
    _script("sinhala", "D80-DFF", "si"),
    _script("lao", "E80-EFF", "lo"),
    _script("tibetan", "F00-FFF", "bo"),
    _script("myanmar", "1000-109F", "my"),
    _script("khmer", "1780-17FF", "km"),
)
#: Units of characters without a number of their own; the letters of each script follow, small and capital.
CLASSES = (
    "undefined",
    "control",
    "control-high",
    "private",
    "box",
    "math",
    "symbol",
    "mark",
    "letter",
    "han",
    "kana",
    "hangul",
    "wide",
    *(f"{script.name}{case}" for script in SCRIPTS for case in ("", "-capital")),
)
_WIDE = ((0x2E80, 0x303F), (0x3200, 0x33FF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF))
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_SPACE = frozenset((9, 10, 11, 12, 13, 0x20))
_DIGITS = (0x30, 0x660, 0x6F0, 0xE50, 0x966)


def script_number(point: int) -> int:
    """Index of the script a code point belongs to, or -1."""
    for number, script in enumerate(SCRIPTS):
        if any(low <= point <= high for low, high in script.ranges):
            return number
    return -1


def _within(point: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(low <= point <= high for low, high in ranges)


def class_of(point: int) -> str:
    """Name of the class of a code point.

    >>> class_of(0x9F), class_of(ord("字")), class_of(ord("Я")), class_of(ord("═"))
    ('control-high', 'han', 'cyrillic-capital', 'box')
    """
    if point < 0x20 or point == 0x7F:
        return "control"
    if point < 0xA0 and point >= 0x80:
        return "control-high"
    if 0xE000 <= point < 0xF900 or point >= 0xF0000:
        return "private"
    if 0x2500 <= point < 0x25A0:
        return "box"
    if _within(point, _HAN):
        return "han"
    if 0x3041 <= point <= 0x30FF or 0xFF66 <= point <= 0xFF9F:
        return "kana"
    if 0xAC00 <= point <= 0xD7AF or 0x1100 <= point <= 0x11FF or 0x3131 <= point <= 0x318E:
        return "hangul"
    if _within(point, _WIDE):
        return "wide"
    return _by_category(point)


def _by_category(point: int) -> str:
    category = unicodedata.category(chr(point))
    number = script_number(point)
    if number >= 0 and category[0] in "LM":
        return SCRIPTS[number].name + ("-capital" if category == "Lu" else "")
    if category in ("Cn", "Cs"):
        return "private"
    return {"L": "letter", "M": "mark", "C": "control"}.get(
        category[0], "math" if category == "Sm" else "symbol"
    )


@functools.cache
def fold(point: int) -> int:
    """The code point that stands for this one: one for all white space, one for the digits of a script."""
    if point in _SPACE:
        return 0x20
    for zero in _DIGITS:
        if zero <= point < zero + 10:
            return zero
    if 0xFB50 <= point <= 0xFDFF or 0xFE70 <= point <= 0xFEFF:
        return ord((unicodedata.normalize("NFKC", chr(point)).strip() or chr(point))[0])
    return point


class Inventory:
    """Units of all code points below 0x10000; the ones above are symbols, letters or Han.

    Attributes:
        points: Code points with a unit of their own, ascending; unit ``len(CLASSES) + i`` is ``points[i]``.
        unit: uint16 by code point.
    """

    def __init__(self, points: Iterable[int]) -> None:
        self.points = tuple(sorted({fold(point) for point in points}))
        own = {point: len(CLASSES) + i for i, point in enumerate(self.points)}
        number = {name: i for i, name in enumerate(CLASSES)}
        self.unit = [own[fold(p)] if fold(p) in own else number[class_of(fold(p))] for p in range(0x10000)]

    def __len__(self) -> int:
        return len(CLASSES) + len(self.points)

    def class_of_unit(self, unit: int) -> str:
        """Class of a unit's characters."""
        return CLASSES[unit] if unit < len(CLASSES) else class_of(self.points[unit - len(CLASSES)])

    def script_of_unit(self, unit: int) -> int:
        """Script of a unit's letters, or -1."""
        name = self.class_of_unit(unit).removesuffix("-capital")
        return next((i for i, script in enumerate(SCRIPTS) if script.name == name), -1)
