"""Byte-level byte pairs by our own kernel: files that cut texts as GPT-2 does and have neither normalizer nor rules for tokens.

Each thread has its own memory of pre-tokens and takes no lock, so two workers are twice as fast as one; gigatoken, which is as
fast in one thread, lets one thread in at a time (docs/decisions/own-byte-pairs.md has the figures).
"""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.kernels.tokens.pair_memory import PairMemory
from samebits.kernels.tokens.pair_merges import PairMerges
from samebits.tokens.character_classes import character_classes
from samebits.tokens.encoders.allow_list import (
    PRE_TOKENIZERS,
    byte_alphabet,
    why_not_byte_level,
    without_special_tokens,
)
from samebits.tokens.encoders.interface import Ids, SpecialTokens

__all__ = ["BytePairsEncoder", "why_not"]

ALLOWED_PRE_TOKENIZERS = ("ByteLevel",)
MAX_BYTES = 96 << 20  # of a thread's memory; it is begun anew when it is larger


class _Model(msgspec.Struct):
    vocab: dict[str, int]
    merges: list[tuple[str, str] | str]


class _TokenizerFile(msgspec.Struct):
    model: _Model


class BytePairsEncoder:
    """The merges of a file, and a memory of pre-tokens for each thread."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        self._merges = _read_merges(document)
        self._own = threading.local()

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        memory: PairMemory | None = getattr(self._own, "memory", None)
        if memory is None or memory.num_bytes > MAX_BYTES:
            memory = self._own.memory = PairMemory(self._merges)
        return memory.encode(texts.buffer, texts.starts, texts.stops, character_classes())


def _read_merges(document: bytes) -> PairMerges:
    """Return the merges of a file as pairs of ids.

    Raises:
        ValueError: if a merge has no id, or is not a pair.
    """
    model = msgspec.json.decode(document, type=_TokenizerFile).model
    ids = model.vocab
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model.merges]
    try:
        left = np.array([ids[a] for a, _ in pairs], np.uint32)
        right = np.array([ids[b] for _, b in pairs], np.uint32)
        merged = np.array([ids[a + b] for a, b in pairs], np.uint32)
    except KeyError as error:
        raise ValueError(f"a merge of {error} has no id") from None
    return PairMerges(left, right, merged, np.array([ids[char] for char in byte_alphabet()], np.uint32))


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed tokenizer.json is not on the list; empty when it is."""
    if special_tokens == "text":
        document = without_special_tokens(document)
    elif document.get("added_tokens"):
        return "special tokens become ids"
    return why_not_byte_level(document, [None], [PRE_TOKENIZERS[name] for name in ALLOWED_PRE_TOKENIZERS])
