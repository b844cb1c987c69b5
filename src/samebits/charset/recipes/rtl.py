"""Display order and joined letter forms for pages that stored what the screen showed.

Own code on Python's Unicode data, no ICU: the same Python gives the same models on every machine. Compared with
ICU 72 in ``tests/charset/test_rtl.py``.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.charset.rtl import join_letters, visual_order

__all__ = ["glyph_fallbacks", "join_arabic", "to_visual"]

#: The order is the contract with the kernel; every other class is treated as ON (no legacy page holds embeddings).
_CLASSES = ("L", "R", "AL", "EN", "AN", "ES", "ET", "CS", "NSM", "BN", "B", "S", "WS", "ON")
_MIRRORED = "()<>[]{}«»‹›"
_KINDS = ("isolated", "final", "initial", "medial")
_NUM_POINTS = 0x10000
_ARABIC_FORMS = (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFF00))
_TATWEEL = 0x0640


@functools.cache
def _bidi_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    classes = np.zeros(_NUM_POINTS, np.uint8)
    for point in itertools.chain(range(0x2700), range(0x3000, 0x3020), range(0xFB00, _NUM_POINTS)):
        name = unicodedata.bidirectional(chr(point))
        classes[point] = _CLASSES.index(name) if name in _CLASSES else 0 if not name else _CLASSES.index("ON")
    mirror = np.zeros(_NUM_POINTS, np.uint32)
    for left, right in zip(_MIRRORED[::2], _MIRRORED[1::2], strict=True):
        mirror[ord(left)], mirror[ord(right)] = ord(right), ord(left)
    return classes, mirror


def to_visual(text: str) -> str:
    """Display order with a left-to-right base; every line is a paragraph.

    >>> to_visual("abc אבג") == "abc גבא"
    True
    """
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32).copy()
    if len(points) and points.max() >= _NUM_POINTS:
        points[points >= _NUM_POINTS] = 0xFFFD  # no page with visual order has a character from beyond
    visual_order(points, *_bidi_tables())
    return points.tobytes().decode("utf-32-le")


class _Forms(NamedTuple):
    joining: NDArray[np.uint8]
    table: NDArray[np.uint32]
    ligatures: dict[str, str]
    origin: dict[str, tuple[str, int]]


@functools.cache
def _arabic_forms() -> _Forms:
    """Contextual forms from the compatibility decompositions ``<initial> 0628`` and the like."""
    table = np.zeros((0x0700, 4), np.uint32)
    ligatures: dict[str, str] = {}
    origin: dict[str, tuple[str, int]] = {}
    for point in _ARABIC_FORMS:
        kind, *parts = unicodedata.decomposition(chr(point)).split() or [""]
        if kind.strip("<>") not in _KINDS:
            continue
        base = "".join(chr(int(part, 16)) for part in parts)
        number = _KINDS.index(kind.strip("<>"))
        origin[chr(point)] = (base, number)
        if len(base) == 1 and ord(base) < 0x0700:
            table[ord(base), number] = table[ord(base), number] or point
        elif 0xFEF5 <= point <= 0xFEFC:  # lam with alef: the only ligatures that are always written
            lam = int(table[0x0644, 2 if number == 0 else 3])
            alef = int(table[ord(base[1]), 1])
            ligatures[chr(lam) + chr(alef)] = chr(point)
    joining = np.zeros(0x0700, np.uint8)
    joining[table[:, 1] != 0] = 1
    joining[table[:, 2] != 0] = 2
    joining[_TATWEEL] = 2
    joining[[point for point in range(0x0600, 0x0700) if unicodedata.category(chr(point)) == "Mn"]] = 3
    return _Forms(joining, table, ligatures, origin)


def join_arabic(text: str) -> str:
    """Letters as contextual presentation forms, lam-alef as one form; logical order in and out.

    >>> [hex(ord(c)) for c in join_arabic("سلام")]
    ['0xfeb3', '0xfefc', '0xfee1']
    """
    forms = _arabic_forms()
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32).copy()
    join_letters(points, forms.joining, forms.table)
    joined = points.tobytes().decode("utf-32-le")
    for letters, ligature in forms.ligatures.items():
        joined = joined.replace(letters, ligature)
    return joined


def glyph_fallbacks(glyph: str) -> tuple[str, ...]:
    """What a page may hold instead of a presentation form, best first.

    Pages with two forms per letter use the initial form inside a word and the isolated one at its end; a missing
    ligature becomes its letters; last comes the plain letter.
    """
    forms = _arabic_forms()
    if glyph not in forms.origin:
        return ()
    base, kind = forms.origin[glyph]
    order = {0: (1, 2, 3), 1: (0, 2, 3), 2: (0, 3, 1), 3: (2, 1, 0)}[kind]
    if len(base) > 1:
        parts = (
            "".join(chr(int(forms.table[ord(c), k])) for c, k in zip(base, ks, strict=False))
            for ks in ((2, 1), (0, 0))
        )
        return (*parts, base)
    return (*(chr(int(forms.table[ord(base), k])) for k in order if forms.table[ord(base), k]), base)
