"""What the ids of a token store stand for, read from its ``tokenizer.json``: enough to show text and to take a prompt.

Showing text needs the file alone, so samples have the same bytes whatever is installed. A prompt in byte pairs needs the library
``tokenizers``; bytes, characters and words do not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from samebits.errors import ArtifactCorrupt, InputError, MissingExtra

__all__ = ["TokenText", "open_token_text"]

MOST_IDS = 1 << 24
OWN = "samebits_tokenizer"  # the key by which tokenizers of the tokens job name their kind
ALONE = re.escape('!"#$%&()*+,./:;<=>?@[\\]^`{|}~')  # marks that are words of their own
WORD = re.compile(rf"[{ALONE}]|[^{ALONE} \t\n\r\x0b\x0c]+")
BYTE_SPECIALS = ("<|endoftext|>", "<|pad|>", "<|bos|>", "<|sep|>")  # ids 256 to 259 of the byte tokenizer


@dataclass(frozen=True, slots=True)
class TokenText:
    """A tokenizer's table.

    Attributes:
        kind: ``byte``, ``char``, ``word`` or ``bpe``.
        pieces: The bytes of every id.
        document: The file, for encoding byte pairs.
    """

    kind: str
    pieces: tuple[bytes, ...]
    document: str

    def encode(self, text: str, *, name: str) -> list[int]:
        """Turn text into ids.

        Raises:
            InputError: for a character or word without an id; names it.
            MissingExtra: for byte pairs without the library.
        """
        if self.kind == "byte":
            return list(text.encode())
        if self.kind == "bpe":
            return self._encode_pairs(text)
        ids = {piece: number for number, piece in enumerate(self.pieces)}
        units = list(text) if self.kind == "char" else WORD.findall(text)
        for position, unit in enumerate(units):
            if unit.encode() not in ids:
                raise InputError(
                    f"{'character' if self.kind == 'char' else 'word'} {unit!r}, number {position}, has no id",
                    path=name,
                    hint="leave it out",
                )
        return [ids[unit.encode()] for unit in units]

    def _encode_pairs(self, text: str) -> list[int]:
        try:
            import tokenizers
        except ImportError:
            raise MissingExtra("tokenizers", extra="tokens", needed_for="a prompt in byte pairs") from None
        found = tokenizers.Tokenizer.from_str(self.document).encode(text, add_special_tokens=False)
        return [int(number) for number in found.ids]


def open_token_text(document: bytes) -> TokenText | None:
    """Read a tokenizer file; None where it is of a kind whose ids cannot be shown."""
    try:
        found: Any = json.loads(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    text = document.decode("utf-8", "replace")
    if OWN in found:
        return _own(found, text)
    model = found.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict):
        return None
    names = {int(number): str(name) for name, number in model["vocab"].items()}
    pieces = {number: _piece(name) for number, name in names.items()}
    pieces |= {int(token["id"]): str(token["content"]).encode() for token in found.get("added_tokens", [])}
    size = max(pieces, default=-1) + 1
    if min(pieces, default=0) < 0 or size > MOST_IDS:
        raise ArtifactCorrupt(f"tokenizer.json: ids from {min(pieces)} to {size - 1}")
    return TokenText("bpe", tuple(pieces.get(number, b"") for number in range(size)), text)


def _own(found: dict[str, Any], text: str) -> TokenText | None:
    kind = str(found[OWN]).partition(".")[0]
    if kind == "byte":
        single = tuple(bytes((value,)) for value in range(256))
        return TokenText("byte", single + tuple(name.encode() for name in BYTE_SPECIALS), text)
    if kind not in ("char", "word"):
        return None
    names = (*found["specials"].values(), *found["vocabulary"])
    return TokenText(kind, tuple(str(name).encode() for name in names), text)


@cache
def _byte_of_char() -> dict[str, int]:
    """Return the byte each character of a byte-level vocabulary stands for: printable ones themselves, others from U+0100."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [value for value in range(256) if value not in printable]
    return {chr(value): value for value in printable} | {
        chr(256 + n): value for n, value in enumerate(others)
    }


def _piece(name: str) -> bytes:
    table = _byte_of_char()
    if all(char in table for char in name):
        return bytes(table[char] for char in name)
    return name.replace("▁", " ").encode()  # U+2581 is a space where vocabularies are not byte-level
