"""What token ids stand for: characters, bytes, or ids of a tokenizer that is kept beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ArtifactCorrupt, ConfigError, InputError
from samebits.lm.text.token_text import TokenText

__all__ = ["Vocabulary", "learn_chars", "vocabulary_from_dict"]

Ids = NDArray[np.int64]
MOST_CODE = 0x110000
MOST_IDS = 1 << 24


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How text becomes ids and back.

    Attributes:
        kind: ``char``, ``byte``, or ``ids`` when only a tokenizer knows the text.
        size: Number of ids.
        chars: The characters in the order of their ids, for ``char``.
        text: The table of a token store's tokenizer, for ``ids``.
    """

    kind: Literal["char", "byte", "ids"]
    size: int
    chars: str = ""
    text: TokenText | None = None

    def encode(self, text: str, *, name: str = "text", unknown: str = "error") -> Ids:
        """Turn text into ids.

        Args:
            text: The text.
            name: What to call it in an error.
            unknown: ``error`` refuses a character that was not in the training text, ``skip`` leaves it out.

        Raises:
            InputError: names the character and its position.
        """
        if self.kind == "byte":
            return np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8).astype(np.int64)
        if self.kind == "ids" and self.text is not None:
            return np.array(self.text.encode(text, name=name), np.int64)
        if self.kind == "ids":
            raise ConfigError(
                "this model was trained on ids and has no characters", hint="give it the ids of its tokenizer"
            )
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        known = [ord(char) for char in self.chars]
        table = np.full(max(known) + 2, -1, np.int64)  # the last place is that of all higher characters
        table[known] = np.arange(self.size)
        ids = table[np.minimum(codes, len(table) - 1)]
        bad = np.flatnonzero(ids < 0)
        if not len(bad):
            return ids
        if unknown == "skip":
            return ids[ids >= 0]
        raise InputError(
            f"character {text[bad[0]]!r} at position {bad[0]} is not in the model's vocabulary "
            f"({len(bad)} of {len(ids)} characters are not)",
            path=name,
            hint="--unknown skip leaves such characters out",
        )

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Turn ids into text; bytes that are no UTF-8 become the replacement character.

        >>> Vocabulary("char", 3, "abc").decode([2, 0, 1])
        'cab'
        """
        pieces = [self.piece(int(i)) for i in ids]
        return self.joiner.encode().join(pieces).decode("utf-8", "replace")

    def piece(self, token: int) -> bytes:
        """Return the bytes of one id; an id that nothing is known of is shown as its number."""
        if self.kind == "byte":
            return bytes((token,))
        if self.kind == "char":
            return self.chars[token].encode("utf-8", "surrogatepass")
        if self.text is not None:
            return self.text.pieces[token] if token < len(self.text.pieces) else b""
        return str(token).encode()

    @property
    def joiner(self) -> str:
        """What stands between two pieces: a space between words and between numbers."""
        spaced = self.text.kind == "word" if self.text is not None else self.kind == "ids"
        return " " if spaced else ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for vocab.json."""
        return {"kind": self.kind, "size": self.size, "chars": list(self.chars)}


def learn_chars(text: str) -> Vocabulary:
    """Return the characters of a text, sorted by code point.

    >>> learn_chars("banana").chars
    'abn'
    """
    seen = np.zeros(MOST_CODE, np.bool_)
    seen[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)] = True
    codes = np.flatnonzero(seen)
    return Vocabulary("char", len(codes), "".join(map(chr, codes.tolist())))


def vocabulary_from_dict(value: Any, *, path: str, text: TokenText | None = None) -> Vocabulary:
    """Read what ``as_dict`` gave; ``text`` is the table of the tokenizer beside it.

    Raises:
        ArtifactCorrupt: if it is something else.
    """
    try:
        found = Vocabulary(value["kind"], int(value["size"]), "".join(value["chars"]), text)
    except (KeyError, TypeError, ValueError):
        raise ArtifactCorrupt(f"{path}: not a vocabulary") from None
    fits = found.kind in ("char", "byte", "ids") and 0 < found.size <= MOST_IDS
    if found.kind == "char":
        fits = fits and len(found.chars) == len(set(found.chars)) == found.size
    if not fits or (found.kind == "byte" and found.size != 256):
        raise ArtifactCorrupt(
            f"{path}: a vocabulary of {found.size} {found.kind} has {len(found.chars)} characters"
        )
    return found
