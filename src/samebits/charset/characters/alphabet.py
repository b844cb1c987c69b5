"""The alphabet of one script's models: which units they tell apart, and in which company each unit stands.

A unit outside the alphabet is scored as its class; the cost of choosing within a class is added once, so that costs of
different scripts stay comparable. *Kinds* (small letter, closing sign, symbol ...) are what byte pairs that were never seen fall back to.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.charset.characters.inventory import CLASSES, SCRIPTS, Inventory, script_number

__all__ = ["Alphabet", "make_alphabet"]

#: Classes of an alphabet: the inventory's own ones, then letters by how they relate to the script.
_RELATIONS = ("own", "own-capital", "foreign", "latin", "latin-capital")
_PLAIN = CLASSES[: CLASSES.index("latin")]
LOCAL_CLASSES = (*_PLAIN, *_RELATIONS)
MAX_CHARACTERS = 250
#: Signs that files hold though the sentences of a corpus may not: what quotes, lists and prices need.
FILE_SIGNS = frozenset("€£°§©®™•…–—“”‘’„‚«»‹›[]|\xa0")
_SIGNS = {**dict.fromkeys("([{", "open"), **dict.fromkeys("\"'", "quote"), "-": "dash"}
_SIGNS |= dict.fromkeys(".,)];:!?", "close")
_BY_CATEGORY = {"Pi": "open", "Ps": "open", "Pf": "shut", "Pe": "shut", "Pd": "dash", "Zs": "hard space"}


@dataclass(frozen=True)
class Alphabet:
    """One script's view of the inventory.

    Attributes:
        script: Index of the script.
        local: uint8 by unit: its number in this alphabet.
        kinds: Kind of each number.
        members: How many characters share each number.
        chars: The character of each number that has one.
    """

    script: int
    local: NDArray[np.uint8]
    kinds: tuple[str, ...]
    members: NDArray[np.int64]
    chars: Mapping[int, str]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.kinds)


def make_alphabet(
    script: int, inventory: Inventory, mass: NDArray[np.int64], stored: Sequence[int]
) -> Alphabet:
    """Choose the units worth a number of their own: the commonest of the script's letters and of the signs.

    Args:
        script: Index of the script.
        inventory: All units.
        mass: By unit, how common it is in the script's text (parts per hundred million, summed over languages).
        stored: Units that some single-byte encoding holds, with repeats for the characters a unit stands for.
    """
    wanted = [
        u
        for u in range(len(CLASSES), len(inventory))
        if (mass[u] >= 30 or chr(inventory.points[u - len(CLASSES)]) in FILE_SIGNS)
        and _deserves(script, inventory, u)
    ]
    ascii_first = sorted(wanted, key=lambda u: (_class_of_choice(inventory, u), -int(mass[u]), u))
    chosen = sorted(ascii_first[: MAX_CHARACTERS - len(LOCAL_CLASSES)])
    number = {unit: len(LOCAL_CLASSES) + i for i, unit in enumerate(chosen)}
    local = np.array(
        [number.get(u, LOCAL_CLASSES.index(_relation(script, inventory, u))) for u in range(len(inventory))],
        np.uint8,
    )
    kinds = [_kind_of_class(name) for name in LOCAL_CLASSES] + [_kind(script, inventory, u) for u in chosen]
    members = np.bincount(local[np.array(stored, np.int64)], minlength=len(kinds))
    chars = {at: chr(inventory.points[unit - len(CLASSES)]) for unit, at in number.items()}
    return Alphabet(script, local, tuple(kinds), np.maximum(members, 1), chars)


def _class_of_choice(inventory: Inventory, unit: int) -> int:
    point = inventory.points[unit - len(CLASSES)]
    return 0 if point < 0x80 else 1 if chr(point) in FILE_SIGNS else 2


def _deserves(script: int, inventory: Inventory, unit: int) -> bool:
    of = inventory.script_of_unit(unit)
    if of >= 0:
        return of == script
    return inventory.class_of_unit(unit) in ("symbol", "math", "mark")


def _relation(script: int, inventory: Inventory, unit: int) -> str:
    """Class of a unit that has no number of its own in a script's alphabet."""
    name, of = inventory.class_of_unit(unit), inventory.script_of_unit(unit)
    if of < 0:
        return name
    capital = "-capital" if name.endswith("-capital") else ""
    if of == script:
        return "own" + capital
    if SCRIPTS[of].name == "latin":
        return "latin" + capital
    return "foreign"


def _kind_of_class(name: str) -> str:
    return {"math": "symbol", "own": "letter of its own", "own-capital": "capital of its own"}.get(name, name)


def _kind(script: int, inventory: Inventory, unit: int) -> str:
    point = inventory.points[unit - len(CLASSES)]
    category = unicodedata.category(chr(point))
    if point == 0x20:
        return "space"
    if category[0] == "N":
        return "digit"
    if category[0] == "M":
        return "mark"
    if script_number(point) == script:
        return "capital of its own" if category == "Lu" else "letter of its own"
    if chr(point) in "«»‹›":
        return "symbol"  # quotes where they are quotes, arrows everywhere else
    if point < 0x80:
        return _SIGNS.get(chr(point), "sign")
    return _BY_CATEGORY.get(category, "symbol")
