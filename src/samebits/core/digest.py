"""Digests: the words in which "the same bits" is said. Always sha256, always over canonical bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from samebits.core.codec import encode_pieces

__all__ = ["canonical_json", "digest_of", "digest_of_file", "digest_of_part"]

READ_BYTES = 1 << 20


def digest_of(value: Any) -> str:
    """Return the sha256 of plain data; equal for equal values whatever the order of dict keys.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    >>> digest_of(1) == digest_of(1.0)
    False
    """
    return _digest(encode_pieces(value, sort_keys=True))


def digest_of_part(part: Any) -> str:
    """Return the sha256 of a part's encoding; the order of its dicts counts, because a fold sees it."""
    return _digest(encode_pieces(part))


def _digest(pieces: Iterable[bytes | memoryview]) -> str:
    hasher = hashlib.sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            hasher.update(block)
    return hasher.hexdigest()


def canonical_json(value: Any) -> bytes:
    """Return JSON that people can read and that has one spelling: sorted keys, two spaces, final newline.

    >>> print(canonical_json({"b": [1], "a": "é"}).decode(), end="")
    {
      "a": "é",
      "b": [
        1
      ]
    }
    """
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"
