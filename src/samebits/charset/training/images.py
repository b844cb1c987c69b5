"""What each character becomes in one encoding, worked out once per character and kept.

An *image* is the text written for a character, its bytes, and how many letters it keeps. A character is
*special* for an encoding when its image is empty, or involves whitespace and differs from the character: only
beside such characters the result is more than a per-character map, because dropping a character may bring
equal whitespace together, which then shrinks to one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.charset.codec import encodable, is_per_character
from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe

__all__ = ["Image", "ImageTable", "flatten", "is_space_table"]


class Image(NamedTuple):
    """What one character becomes in one encoding."""

    text: str
    data: bytes
    letters_kept: int
    letters: int
    special: bool


@dataclass(slots=True)
class ImageTable:
    """Images of one recipe, filled on demand. Threads may fill it together: equal keys get equal values."""

    recipe: Recipe
    _images: dict[str, Image] = field(default_factory=dict)

    def of(self, chars: Sequence[str]) -> list[Image]:
        """The images of these characters, in their order."""
        known = self._images
        missing = [char for char in chars if char not in known]
        if missing:
            self._add(missing)
        return [known[char] for char in chars]

    def _add(self, chars: Sequence[str]) -> None:
        recipe = self.recipe
        for char, data in zip(chars, encode_each(chars, recipe.codec), strict=True):
            if data and not recipe.substitutes_all and char != PLACEHOLDER:
                letter = int(char.isalpha())
                self._images[char] = Image(char, data, letter, letter, False)
            else:
                self._images[char] = self._make(char)

    def _make(self, char: str) -> Image:
        recipe = self.recipe
        codec = recipe.codec
        written = "".join(map(recipe.substitute, recipe.encoding if char == PLACEHOLDER else char))
        kept = "".join(part for part in written if encodable(part, codec))
        blank = char.isspace() or any(part.isspace() for part in kept)
        return Image(
            text=kept,
            data=kept.encode(codec, "ignore"),
            letters_kept=sum(map(str.isalpha, kept)),
            letters=sum(map(str.isalpha, written)),
            special=not kept or (kept != char and blank),
        )


def encode_each(chars: Sequence[str], codec: str) -> list[bytes]:
    """Bytes of each character on its own, empty where the codec has none.

    One call for all: with a line end between the characters the result is cut at the codec's line end, which is
    no part of another character in the codecs that treat characters one by one (checked by the number of
    pieces). Ten times faster than one call per character.
    """
    line_end = "\n".encode(codec)
    if "\n" in chars:
        at = chars.index("\n")
        return [*encode_each(chars[:at], codec), line_end, *encode_each(chars[at + 1 :], codec)]
    if is_per_character(codec):
        with contextlib.suppress(UnicodeError):
            pieces = "\n".join(chars).encode(codec, "ignore").split(line_end)
            if len(pieces) == len(chars):
                return pieces
    return [_encode_one(char, codec) for char in chars]


def _encode_one(char: str, codec: str) -> bytes:
    try:
        return char.encode(codec, "ignore")
    except UnicodeError:
        return b""


def flatten(texts: Iterable[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Code points of all texts one after the other, and where each starts; id 0 (the edge) is empty."""
    texts = list(texts)
    offsets = np.zeros(len(texts) + 2, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[2:])
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return points, offsets


def is_space_table() -> NDArray[np.bool_]:
    """For every code point, whether it is whitespace."""
    out = np.zeros(0x110000, np.bool_)
    out[[point for point in range(0x3001) if chr(point).isspace()]] = True
    return out
