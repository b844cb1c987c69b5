"""gigatoken: byte-level byte pairs without a normalizer, and SentencePiece's byte pairs with byte fallback.

Its batch call returns a rectangle of ids, one row a text, and lets other threads run meanwhile. Texts are sorted into
powers of two of their length first, so that the rectangles stay small. The library knows no "special tokens stay plain
text", so for that it gets the file without them.

gigatoken 0.10 knows the characters of Unicode 17, ``tokenizers`` 0.23 those of 16: a letter of one is no letter of the
other, and texts are cut differently around it. Texts with one of those in ``NEW_LETTERS`` go to ``tokenizers``.
Every code point was tried with every pattern on the list, in one text that has it among letters, digits and signs, before an
ending, twice, and at line ends: no other difference. ``benchmarks/tokens_fuzz.py`` does it again for a new version; a difference
means that the list must grow.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import MissingExtra
from samebits.kernels.tokens.chars import rows_to_bytes, rows_with_chars
from samebits.kernels.tokens.rows import flatten_rows
from samebits.machine import early_start as early
from samebits.tokens.encoders.allow_list import (
    LLAMA3_SPLIT,
    O200K_SPLIT,
    PIECE_STEPS,
    PRE_TOKENIZERS,
    QWEN2_SPLIT,
    why_not_byte_level,
    why_not_pieces,
    without_special_tokens,
)
from samebits.tokens.encoders.interface import Ids, SpecialTokens
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder

__all__ = ["GigaEncoder", "load_library", "why_not"]

ALLOWED_PRE_TOKENIZERS = (
    "ByteLevel",
    "ByteLevel with prefix space",
    LLAMA3_SPLIT,
    QWEN2_SPLIT,
    O200K_SPLIT,
)


# First and last code point of what Unicode 17 added and the two libraries cut differently.
NEW_LETTERS = (
    (0x088F, 0x088F),
    (0x0C5C, 0x0C5C),
    (0x0CDC, 0x0CDC),
    (0x1ACF, 0x1AEB),
    (0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D4),
    (0xA7F1, 0xA7F1),
    (0x10940, 0x10959),
    (0x10EC5, 0x10EFB),
    (0x11B60, 0x11B67),
    (0x11DB0, 0x11DE9),
    (0x16EA0, 0x16ED3),
    (0x16FF2, 0x16FF6),
    (0x187F8, 0x187FF),
    (0x18D09, 0x18D1E),
    (0x18D80, 0x18DF2),
    (0x1E6C0, 0x1E6FF),
    (0x2B73A, 0x2B73F),
    (0x2CEA2, 0x2CEAD),
    (0x323B0, 0x33479),
)
_FIRSTS, _LASTS = np.array(NEW_LETTERS, np.int32).T.copy()


class GigaEncoder:
    """Ids as rectangles, flattened by a kernel."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        begun = early.take(f"gigatoken {special_tokens} {hashlib.sha256(document).hexdigest()}")
        self.library = begun or load_library(document, special_tokens)
        self.source, self.padding = _types()
        self._make_reference = partial(ReferenceEncoder, document, special_tokens)
        self._reference: ReferenceEncoder | None = None

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column, those of about one length together."""
        disputed = rows_with_chars(texts.buffer, texts.starts, texts.stops, _FIRSTS, _LASTS)
        sizes = np.where(disputed, 0, texts.stops - texts.starts)
        lengths = np.zeros(len(texts), np.int64)
        groups = [self._by_reference(texts, int(row)) for row in np.flatnonzero(disputed)]
        for rows, ids, _ in groups:
            lengths[rows] = ids.shape[1]
        for rows in _by_length(sizes):
            strings = rows_to_bytes(texts.buffer, texts.starts[rows], texts.stops[rows])
            ids, used = self.library.encode_batch_padded(self.source(strings), self.padding, parallel=False)
            groups.append((rows, ids, used))
            lengths[rows] = used
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        flat = np.empty(int(offsets[-1]), np.uint32)
        for rows, ids, used in groups:
            flatten_rows(ids, used, offsets[rows], flat)
        return flat, offsets

    def _by_reference(self, texts: TextColumn, row: int) -> tuple[NDArray[np.int64], NDArray[np.uint32], Any]:
        """Return one row as a group of its own."""
        self._reference = self._reference or self._make_reference()
        ids, offsets = self._reference.encode_strings([texts[row].decode()])
        return np.array([row]), ids[None, :], offsets[1:]


def _by_length(sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Group row numbers by the power of two that their size reaches; empty rows are left out.

    >>> [group.tolist() for group in _by_length(np.array([5, 0, 900, 6, 1000]))]
    [[0, 3], [2, 4]]
    """
    powers = np.frexp(sizes.astype(np.float64))[1]
    found = np.flatnonzero(np.bincount(powers[sizes > 0]))  # np.unique would load numpy.ma
    return [np.flatnonzero(powers == power) for power in found]


def load_library(document: bytes, special_tokens: SpecialTokens) -> Any:
    """Build the library's tables from a tokenizer.json."""
    try:
        from gigatoken.gigatoken_rs import load_hf_json
    except ImportError:
        raise MissingExtra("gigatoken", extra="tokens", needed_for="the fastest BPE encoding") from None
    if special_tokens == "text":
        parsed = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
        added = msgspec.json.decode(parsed.get("added_tokens", b"[]"), type=list[dict[str, Any]] | None)
        kept = [token for token in added or [] if not token.get("special")]
        document = msgspec.json.encode({**parsed, "added_tokens": msgspec.Raw(msgspec.json.encode(kept))})
    return load_hf_json(document)


def _types() -> tuple[Any, Any]:
    from gigatoken.gigatoken_rs import BytesSource, PadTruncate

    return BytesSource, PadTruncate(0)


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed tokenizer.json is not on the list of gigatoken; empty when it is."""
    if special_tokens == "text":
        document = without_special_tokens(document)
    if (document.get("model") or {}).get("byte_fallback"):
        return why_not_pieces(document, PIECE_STEPS.values())
    pre_tokenizers = [PRE_TOKENIZERS[name] for name in ALLOWED_PRE_TOKENIZERS]
    return why_not_byte_level(document, [None], pre_tokenizers, ignore_merges=True, plain_tokens=True)
