"""Costs of the characters of Chinese, Japanese and Korean, by code point and as the double-byte encodings store them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samebits.charset.characters.costs import quantised
from samebits.charset.characters.inventory import class_of

__all__ = ["DOUBLE_BYTE", "EAST_ASIAN", "code_costs", "stored_costs"]

EAST_ASIAN = ("ja", "ko", "zh")
#: Encodings with a table, and the language each was made for.
DOUBLE_BYTE = {
    "big5hkscs": "zh",
    "cp932": "ja",
    "cp949": "ko",
    "euc_jis_2004": "ja",
    "gb18030": "zh",
    "johab": "ko",
    "shift_jis_2004": "ja",
}
#: One sign of the Japanese standard that Windows and everybody else took for two different characters.
_TWINS = (
    (0x301C, 0xFF5E),
    (0x2016, 0x2225),
    (0x2212, 0xFF0D),
    (0xA2, 0xFFE0),
    (0xA3, 0xFFE1),
    (0xAC, 0xFFE2),
)
#: Half-width kana are rare in corpora, and most of some old files.
_HALF_WIDTH_KANA = (0xFF66, 0xFF9E)
_POOLED, _UNIFORM = 0.02, 0.01
#: 20 bits for a character beyond the first plane; 14 for one of a maker's own, such as the signs of Japanese telephones.
_BEYOND, _PRIVATE = 160, 112


def code_costs(texts: Mapping[str, Sequence[str]]) -> NDArray[np.uint8]:
    """(languages, 65536): cost of each character beyond ASCII in the text of each language."""
    counts = []
    for language in EAST_ASIAN:
        points = np.frombuffer("".join(texts[language]).encode("utf-16-le", "replace"), np.uint16)
        table = np.bincount(points, minlength=65536)
        table[:128] = 0
        for one, other in _TWINS:
            table[one] = table[other] = table[one] + table[other]
        for half in range(*_HALF_WIDTH_KANA):
            table[half] += table[ord(unicodedata.normalize("NFKC", chr(half)))] // 8
        counts.append(table)
    han = np.array([class_of(point) in ("han", "wide") for point in range(65536)])
    assigned = np.array([class_of(point) in ("han", "wide", "kana", "hangul") for point in range(65536)])
    pooled = sum((np.where(han, table, 0) / table.sum() for table in counts), np.zeros(65536))
    uniform = np.where(assigned, 1.0, 0.1) / (assigned.sum() + 0.1 * (~assigned).sum())
    rows = [
        quantised((1 - _POOLED - _UNIFORM) * table / table.sum() + _POOLED / 3 * pooled + _UNIFORM * uniform)
        for table in counts
    ]
    return np.stack(rows)


def stored_costs(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(encodings, 129, 256): first row single bytes, then pairs by lead byte from 0x80; 255 is no character."""
    out = np.full((len(DOUBLE_BYTE), 129, 256), 255, np.uint8)
    for number, (codec, language) in enumerate(DOUBLE_BYTE.items()):
        costs = codes[EAST_ASIAN.index(language)]
        for lead in range(0x80, 0x100):
            out[number, 0, lead] = _cost(bytes([lead]), codec, costs)
            if out[number, 0, lead] == 255:
                for trail in range(0x30, 0x100):
                    out[number, lead - 0x7F, trail] = _cost(bytes([lead, trail]), codec, costs)
    return out


def _cost(data: bytes, codec: str, costs: NDArray[np.uint8]) -> int:
    try:
        text = data.decode(codec)
    except UnicodeError:
        return 255
    if len(text) != 1 or text < "\x80":
        return 255
    if text >= "\U00010000":
        return _BEYOND
    return min(_PRIVATE if class_of(ord(text)) == "private" else 254, int(costs[ord(text)]))
