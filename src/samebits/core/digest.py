"""Digests: the words in which "the same bits" is said. Always sha256, always over canonical bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from samebits.core.codec import encode_pieces

__all__ = ["canonical_json", "digest_of", "digest_of_file"]

READ_BYTES = 1 << 20


def digest_of(value: Any) -> str:
    """Return the sha256 of plain data; equal for equal values whatever the order of dict keys.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    >>> digest_of(1) == digest_of(1.0)
    False
    """
    hasher = hashlib.sha256()
    for piece in encode_pieces(value):
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
