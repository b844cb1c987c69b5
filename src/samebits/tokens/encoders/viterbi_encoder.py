"""Unigram models of SentencePiece, by a kernel that does what ``sentencepiece`` 0.2.3 does, to the last rounding.

``sentencepiece`` defines the ids of a ``.model``. It adds up scores from the beginning of a text as 32-bit floats, so which of
two nearly equal ways to cut a word wins depends on all words before it: neither ``tokenizers``, with 64 bits and word by
word, nor a memory of words gives the same ids. There is nothing to probe against: the kernel is compared with
``sentencepiece`` by the tests and by ``benchmarks/tokens_fuzz.py``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.kernels.tokens.viterbi import PieceTrie
from samebits.tokens.encoders.interface import Ids, SpecialTokens
from samebits.tokens.encoders.tokenizer_json import SIGN

__all__ = ["ViterbiEncoder", "why_not"]

UNKNOWN_PENALTY = np.float32(10)
USER_DEFINED_BONUS = 0.1  # for every byte but the first: such a piece is always taken


class ViterbiEncoder:
    """The pieces of one model as a trie."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        parsed = msgspec.json.decode(document)
        model = parsed["model"]
        pieces: list[tuple[str, float]] = model["vocab"]
        users = {token["id"] for token in parsed.get("added_tokens") or [] if not token["special"]}
        bytes_at = {piece: i for i, (piece, _) in enumerate(pieces)} if model.get("byte_fallback") else {}
        self.byte_ids = np.array([bytes_at[f"<0x{b:02X}>"] for b in range(256)] if bytes_at else [], np.int32)
        skipped = {*self.byte_ids.tolist(), *(i for i, (piece, _) in enumerate(pieces) if piece[0] == " ")}
        normal = np.array([s for i, (_, s) in enumerate(pieces) if i not in skipped | users], np.float32)
        self.unknown = int(model["unk_id"])
        self.unknown_score = float(np.float32(normal.min(initial=np.inf)) - UNKNOWN_PENALTY)
        found = sorted((piece.encode(), i) for i, (piece, _) in enumerate(pieces) if i not in skipped)
        scores = [USER_DEFINED_BONUS * (len(text) - 1) if i in users else pieces[i][1] for text, i in found]
        self.trie = PieceTrie(
            b"".join(text for text, _ in found),
            np.cumsum([0, *(len(text) for text, _ in found)], dtype=np.int64),
            np.array([i for _, i in found], np.int32),
            np.array(scores, np.float32).astype(np.float64),
        )

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column, which are normalized already."""
        return self.trie.encode(
            texts.buffer, texts.starts, texts.stops, self.unknown, self.unknown_score, self.byte_ids
        )


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed file is no Unigram model of SentencePiece; empty when it is."""
    step = document.get("normalizer")
    if not isinstance(step, dict) or step.get("pattern") != {"Regex": SIGN}:
        return "the file was not made of a .model of SentencePiece"
    kind = (document.get("model") or {}).get("type")
    return "" if kind == "Unigram" else f"the model is {kind}"
