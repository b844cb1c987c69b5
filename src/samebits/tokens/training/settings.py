"""What to learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from samebits.data.readers.rows import MAX_LINE_BYTES
from samebits.tokens.encoders.interface import SpecialTokens

__all__ = ["Kind", "LearnSettings"]

Kind = Literal["bpe", "wordpiece", "unigram", "word", "char"]


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """What to learn.

    Attributes:
        kind: Byte pairs, pieces of words, words or characters.
        vocab_size: Largest vocabulary, special tokens included.
        columns: Columns that hold the text.
        min_count: Rarer characters, words or pairs are left out.
        sample_mb: Text that byte pairs and pieces are learned from at most.
        seed: Seed of the sample.
        max_line_bytes: A longer line is a bad row.
        special_tokens: What special tokens inside a text become when the tokenizer is used.
    """

    kind: Kind
    vocab_size: int
    columns: tuple[str, ...]
    min_count: int = 1
    sample_mb: int = 100
    seed: int = 0
    max_line_bytes: int = MAX_LINE_BYTES
    special_tokens: SpecialTokens = "text"
