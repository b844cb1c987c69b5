"""fastokens: byte-level byte pairs, also behind the normalizers and digit rules that gigatoken does not know."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import MissingExtra
from samebits.kernels.tokens.chars import rows_to_strings
from samebits.machine import early_start as early
from samebits.machine.one_cpu import one_cpu
from samebits.tokens.encoders.allow_list import (
    LLAMA3_SPLIT,
    NORMALIZERS,
    PRE_TOKENIZERS,
    QWEN2_SPLIT,
    why_not_byte_level,
)
from samebits.tokens.encoders.interface import Ids, SpecialTokens

__all__ = ["FastEncoder", "why_not"]

ALLOWED_PRE_TOKENIZERS = (
    "ByteLevel",
    "ByteLevel with prefix space",
    "single Digits + ByteLevel",
    "Digits + ByteLevel",
    LLAMA3_SPLIT,
    QWEN2_SPLIT,
)


class FastEncoder:
    """Ids as two buffers, no Python object per token.

    The library sizes its thread pool by the CPUs that the first caller may use, so the first call is made with one.
    """

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        try:
            from fastokens._native import Tokenizer
        except ImportError:
            raise MissingExtra("fastokens", extra="tokens", needed_for="fast BPE encoding") from None
        begun = early.take(f"fastokens {hashlib.sha256(document).hexdigest()}")
        self.library = begun or Tokenizer.from_json_str(document.decode())
        self.split_special = special_tokens == "text"
        with one_cpu():
            self.library.encode_batch_flat(["a"], split_special_tokens=self.split_special)

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        strings = rows_to_strings(texts.buffer, texts.starts, texts.stops)
        ids, offsets = self.library.encode_batch_flat(strings, split_special_tokens=self.split_special)
        return np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<u8").astype(np.int64)


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed tokenizer.json is not on the list of fastokens; empty when it is."""
    if special_tokens == "ids" and document.get("normalizer") is not None:
        return "special tokens become ids behind a normalizer"
    pre_tokenizers = [PRE_TOKENIZERS[name] for name in ALLOWED_PRE_TOKENIZERS]
    return why_not_byte_level(document, NORMALIZERS.values(), pre_tokenizers)
