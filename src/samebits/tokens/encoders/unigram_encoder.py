"""Unigram of a ``tokenizer.json`` (T5, XLM-R), by a kernel that does what ``tokenizers`` does word by word.

Where a file only marks spaces, whole texts go to the kernel. Where it has a normalizer or cuts differently, the words of a text
are remembered, and new ones pass through these steps of ``tokenizers`` first. Scores are read from what the library prints, so that its parser's rounding is kept.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.kernels.tokens.pieces import mark_spaces
from samebits.kernels.tokens.viterbi import PieceTrie
from samebits.tokens.encoders.interface import Encoder, Ids, SpecialTokens, column_of
from samebits.tokens.encoders.tokenizers_encoder import import_tokenizers
from samebits.tokens.encoders.words.remembered_words import RememberingEncoder, how_to_cut, why_not_remembered

__all__ = ["UnigramEncoder", "make_unigram", "why_not"]

UNKNOWN_PENALTY = 10.0


class UnigramEncoder:
    """The pieces of a file as a trie, its normalizer, and how it cuts."""

    def __init__(self, document: bytes) -> None:
        library = import_tokenizers().Tokenizer.from_buffer(document)
        parsed = msgspec.json.decode(library.to_str())
        model = parsed["model"]
        pieces: list[tuple[str, float]] = model["vocab"]
        ids = {piece: i for i, (piece, _) in enumerate(pieces)}  # of two equal ones the later
        found = sorted((piece.encode(), i) for piece, i in ids.items() if piece)
        self.normalizer, self.cutter = library.normalizer, library.pre_tokenizer
        self.prepend = parsed["pre_tokenizer"].get("prepend_scheme") == "always"
        self.only_marks = self.normalizer is None and parsed["pre_tokenizer"]["type"] == "Metaspace"
        self.unknown = int(model["unk_id"])
        self.unknown_score = min(score for _, score in pieces) - UNKNOWN_PENALTY
        names = [f"<0x{byte:02X}>" for byte in range(256)] if model["byte_fallback"] else []
        self.byte_ids = np.array([ids[name] for name in names], np.int32)
        self.trie = PieceTrie(
            b"".join(text for text, _ in found),
            np.cumsum([0, *(len(text) for text, _ in found)], dtype=np.int64),
            np.array([i for _, i in found], np.int32),
            np.array([pieces[i][1] for _, i in found], np.float64),
        )

    def encode_strings(self, texts: list[str]) -> Ids:
        """Normalize, cut and encode strings."""
        if self.normalizer is not None:
            texts = [self.normalizer.normalize_str(text) for text in texts]
        words = [[word for word, _ in self.cutter.pre_tokenize_str(text)] for text in texts]
        ids, offsets = self._encode(column_of([word for row in words for word in row]))
        return ids, offsets[np.cumsum([0, *map(len, words)])]

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column by a file that only marks spaces."""
        buffer, offsets = mark_spaces(texts.buffer, texts.starts, texts.stops, self.prepend)
        return self._encode(TextColumn(buffer, offsets[:-1], offsets[1:]))

    def _encode(self, marked: TextColumn) -> Ids:
        return self.trie.encode(
            marked.buffer,
            marked.starts,
            marked.stops,
            self.unknown,
            self.unknown_score,
            self.byte_ids,
            by_word=True,
        )


def make_unigram(document: bytes, special_tokens: SpecialTokens) -> Encoder:
    """Return the encoder of a file, behind a memory of words if it does more than mark spaces."""
    kernel = UnigramEncoder(document)
    if kernel.only_marks:
        return kernel
    return RememberingEncoder(kernel, how_to_cut(msgspec.json.decode(document), special_tokens)[0])


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed file is not encoded by the kernel; empty when it is."""
    model = document.get("model") or {}
    if model.get("type") != "Unigram":
        return f"the model is {model.get('type')}"
    if special_tokens == "ids":
        return "special tokens become ids"
    if not isinstance(model.get("unk_id"), int):
        return "the model has no unknown piece"
    pieces = {piece for piece, _ in model.get("vocab") or ()}
    if model.get("byte_fallback") and not {f"<0x{byte:02X}>" for byte in range(256)} <= pieces:
        return "the vocabulary lacks some of the 256 bytes"
    return why_not_remembered(document, special_tokens)
