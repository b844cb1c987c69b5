"""Train the detector's models from text of many languages.

One model of character pairs a language serves all of its encodings: what the bytes of an encoding mean is known, only what people write
has to be learnt. Counts are integers and costs come from them without logarithms, so the same text gives the same file everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.charset.characters.alphabet import Alphabet, make_alphabet
from samebits.charset.characters.costs import pair_costs
from samebits.charset.characters.doublebyte import DOUBLE_BYTE, EAST_ASIAN, code_costs, stored_costs
from samebits.charset.characters.inventory import SCRIPTS, Inventory, class_of
from samebits.charset.characters.model_file import UNITS_PER_BIT, pack
from samebits.charset.characters.texts import variants
from samebits.charset.codec import canonical_name
from samebits.charset.pairs import Pair
from samebits.errors import InputError

__all__ = ["learn_models", "needed_languages"]

Texts = Mapping[str, Sequence[str]]
Points = dict[tuple[int, str], NDArray[np.uint16]]
NO_POINT = 0xFFFF
#: A character that is rarer than one in a million is scored as its class.
RARE_CHARACTER = 1e-6
#: Bits against a language whose text is seldom found in an encoding it is not listed with in the table of pairs.
UNLISTED_BITS = 8
#: Bits against languages with few readers, or close to one with many: a short text is more likely of the larger one.
_RARE_LANGUAGES = {
    **dict.fromkeys(["af", "br", "ca", "cy", "eo", "eu", "ga", "gl", "ms", "mt", "sq", "sw", "tg", "tl"], 2),
    **dict.fromkeys(["az"], 3),
    **dict.fromkeys(["ba", "ckb", "ky", "mn", "ps", "tt", "ug", "yi"], 4),
    **dict.fromkeys(["fo", "gd", "lb", "oc"], 6),
    "kk": 1,
}
#: Serbian is mostly written in Cyrillic; in Latin letters it hardly differs from Croatian.
_SERBIAN_IN_LATIN = 8
#: The sign for any currency is in many code pages and in no text: where it stands, a euro was meant.
_CURRENCY, _EURO = 0xA4, 0x20AC
_NOT_COUNTED = ("han", "kana", "hangul", "wide", "private", "control", "control-high")
_OTHER_CODES = {"no": ("nb", "nn")}


def needed_languages() -> tuple[str, ...]:
    """Codes of the languages that must have text."""
    return tuple(sorted({*EAST_ASIAN, *(name for script in SCRIPTS for name in script.languages)}))


def learn_models(texts: Texts, pairs: Sequence[Pair], *, trained_on: str) -> bytes:
    """Train models on text and return the file.

    Args:
        texts: Texts by language; Norwegian may be called nb.
        pairs: Which language was stored in which encoding; gives the single-byte encodings too.
        trained_on: In words, where the text is from.

    Raises:
        InputError: A language has no text.
    """
    encodings = sorted({pair.encoding for pair in pairs if is_single_byte(pair.codec)})
    points = {name: byte_points(name) for name in encodings}
    prepared = _prepared(texts)
    inventory = _inventory(prepared, points.values())
    unit = np.array(inventory.unit, np.uint16)
    unit[NO_POINT] = 0
    sections = _units(inventory, unit, points)
    stored = unit[sorted({point for table in points.values() for point in table if point != NO_POINT})]
    scripts: list[dict[str, Any]] = []
    for number, script in enumerate(SCRIPTS):
        size = 0
        if len(script.languages) > 1 or script.name in ("greek", "thai"):
            alphabet = _alphabet(number, inventory, unit, prepared, stored)
            costs = pair_costs(
                alphabet, [_pair_counts(alphabet, unit, prepared[number, name]) for name in script.languages]
            )
            sections[f"local/{script.name}"] = alphabet.local
            sections[f"costs/{script.name}"] = costs
            sections[f"floor/{script.name}"] = costs.min(axis=2)
            size = alphabet.size
        scripts.append({"name": script.name, "languages": list(script.languages), "size": size})
    sections["penalty"] = _penalties(encodings, pairs)
    sections["codes"] = code_costs({name: _texts_of(texts, name) for name in EAST_ASIAN})
    sections["stored"] = stored_costs(sections["codes"])
    header = {
        "encodings": [{"name": name, "ascii": not is_ebcdic(name)} for name in encodings],
        "scripts": scripts,
        "east_asian": list(EAST_ASIAN),
        "double_byte": list(DOUBLE_BYTE),
        "units": len(inventory),
        "trained_on": trained_on,
    }
    return pack(header, {name: np.ascontiguousarray(array).tobytes() for name, array in sections.items()})


def is_single_byte(codec: str) -> bool:
    """Whether every byte is a character, or none, whatever stands beside it.

    >>> is_single_byte("koi8-r"), is_single_byte("shift_jis"), is_single_byte("utf-8"), is_single_byte("hz")
    (True, False, False, False)
    """
    if canonical_name(codec).startswith(("utf", "hz", "iso2022")):
        return False
    return all(len((bytes([byte]) * 2).decode(codec, "replace")) == 2 for byte in range(256)) and all(
        bytes([byte, 0x41]).decode(codec, "replace")[1:] == bytes([0x41]).decode(codec) for byte in range(256)
    )


def is_ebcdic(codec: str) -> bool:
    """Whether the letters lie where IBM's mainframes have them."""
    return b"\xc1".decode(codec, "replace") == "A"


def byte_points(codec: str) -> list[int]:
    """Code point of each byte, NO_POINT where there is none."""
    chars = [bytes([byte]).decode(codec, "replace") for byte in range(256)]
    return [ord(char) if char != "\ufffd" else NO_POINT for char in chars]


def _texts_of(texts: Texts, language: str) -> Sequence[str]:
    for name in (language, *_OTHER_CODES.get(language, ())):
        if texts.get(name):
            return texts[name]
    raise InputError(
        f"no text of the language {language!r}",
        path="the corpus",
        hint=f"the detector's models need text of: {', '.join(needed_languages())}",
    )


def _prepared(texts: Texts) -> Points:
    """Code points of every script's text by language; one line a text."""
    out: Points = {}
    for number, script in enumerate(SCRIPTS):
        for language in script.languages:
            joined = "\n".join(variants(language, number, _texts_of(texts, language)))
            points = np.frombuffer(joined.encode("utf-16-le", "replace"), np.uint16).copy()
            if len(points) < 2:
                raise InputError(f"no text of {language!r} in the script {script.name}", path="the corpus")
            points[points == _CURRENCY] = _EURO
            out[number, language] = points
    return out


def _inventory(prepared: Points, tables: Iterable[Sequence[int]]) -> Inventory:
    stored = {point for table in tables for point in table if point != NO_POINT}
    for points in prepared.values():
        counts = np.bincount(points, minlength=65536)
        stored.update(np.flatnonzero(counts > max(2, counts.sum() * RARE_CHARACTER)).tolist())
    return Inventory(point for point in stored if class_of(point) not in _NOT_COUNTED)


def _units(
    inventory: Inventory, unit: NDArray[np.uint16], points: Mapping[str, Sequence[int]]
) -> dict[str, NDArray[Any]]:
    """Tables of units, and of what the bytes of each encoding are; the line end of EBCDIC is white space there."""
    table = np.array(list(points.values()), np.uint16)
    units = unit[table]
    for row, (name, found) in enumerate(points.items()):
        if is_ebcdic(name) and 0x85 in found:
            units[row, found.index(0x85)] = unit[0x20]
    numbers = range(len(inventory))
    letters = ("letter", "mark", "han", "kana", "hangul")
    return {
        "unit": unit,
        "unit_script": np.array([inventory.script_of_unit(u) % 256 for u in numbers], np.uint8),
        "unit_letter": np.array(
            [inventory.script_of_unit(u) >= 0 or inventory.class_of_unit(u) in letters for u in numbers],
            np.uint8,
        ),
        "points": table,
        "units": units,
    }


def _alphabet(
    number: int, inventory: Inventory, unit: NDArray[np.uint16], prepared: Points, stored: NDArray[np.uint16]
) -> Alphabet:
    mass = np.zeros(len(inventory), np.int64)
    for language in SCRIPTS[number].languages:
        counts = np.bincount(unit[prepared[number, language]], minlength=len(inventory))
        mass += counts * 10**8 // counts.sum()
    return make_alphabet(number, inventory, mass, stored.tolist())


def _pair_counts(
    alphabet: Alphabet, unit: NDArray[np.uint16], points: NDArray[np.uint16]
) -> NDArray[np.int64]:
    """(size, size) counts of neighbours; repeated white space is one."""
    local = alphabet.local[unit[points]].astype(np.int64)
    space = int(alphabet.local[unit[0x20]])
    keep = np.concatenate([[True], (local[1:] != space) | (local[:-1] != space)])
    local = local[keep]
    size = alphabet.size
    return np.bincount(local[:-1] * size + local[1:], minlength=size * size).reshape(size, size)


def _penalties(encodings: Sequence[str], pairs: Sequence[Pair]) -> NDArray[np.uint8]:
    """(encodings + 1, languages): cost of a language in an encoding before any text; last row: in Unicode."""
    listed = {(pair.language, pair.encoding) for pair in pairs}
    rows = []
    for encoding in (*encodings, None):
        for script in SCRIPTS:
            for language in script.languages:
                bits = _RARE_LANGUAGES.get(language, 0)
                bits += _SERBIAN_IN_LATIN if language == "sr" and script.name == "latin" else 0
                bits += UNLISTED_BITS if encoding is not None and (language, encoding) not in listed else 0
                rows.append(bits * UNITS_PER_BIT)
    return np.array(rows, np.uint8).reshape(len(encodings) + 1, -1)
