"""Words of a WordPiece file, one by one: those of plain ASCII by a kernel, all others by ``tokenizers``.

A word of ASCII letters and digits, or a single ASCII sign, is left whole by BERT's pre-tokenizer, and all that its normalizer can do to it is
to make it lower case. So nothing is left but cutting it into pieces. ``tokenizers`` is loaded when the first other word comes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.kernels.tokens.word_pieces import WordPieces
from samebits.tokens.encoders.interface import Ids, SpecialTokens, column_of
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder

__all__ = ["PiecesOfWords", "has_plain_words"]

LONGEST = 128  # bytes of a word that the kernel takes


def has_plain_words(document: dict[str, Any], special_tokens: SpecialTokens) -> bool:
    """Whether the kernel knows what becomes of plain words of a parsed tokenizer.json."""
    model = document.get("model") or {}
    return (
        special_tokens == "text"  # else a plain word may be, or hold, a special token
        and model.get("type") == "WordPiece"
        and bool(model.get("continuing_subword_prefix"))
        and model.get("unk_token") in (model.get("vocab") or {})
        and (document.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
        and (document.get("normalizer") or {"type": "BertNormalizer"}).get("type") == "BertNormalizer"
    )


class PiecesOfWords:
    """Takes what a memory of words has not seen; ``has_plain_words`` holds for the file."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens) -> None:
        self._document, self._special_tokens = document, special_tokens
        parsed = msgspec.json.decode(document)
        self._lower = bool((parsed.get("normalizer") or {}).get("lowercase"))
        self._kernel = _kernel(parsed["model"])

    @cached_property
    def _reference(self) -> ReferenceEncoder:
        return ReferenceEncoder(self._document, self._special_tokens)

    def encode_strings(self, texts: list[str]) -> Ids:
        """Encode words."""
        plain = [i for i, text in enumerate(texts) if _is_plain(text)]
        rest = [i for i, text in enumerate(texts) if not _is_plain(text)]
        words = [texts[i] for i in plain]
        column = column_of([word.lower() for word in words] if self._lower else words)
        by_kernel = self._kernel.encode(column.buffer, column.starts, column.stops)
        if not rest:
            return by_kernel
        by_library = self._reference.encode_strings([texts[i] for i in rest])
        return _interleaved((np.array(plain, np.int64), by_kernel), (np.array(rest, np.int64), by_library))


def _is_plain(text: str) -> bool:
    return (
        text.isascii()
        and (text.isalnum() or ("!" <= text <= "~" and len(text) == 1))
        and len(text) <= LONGEST
    )


def _interleaved(*groups: tuple[NDArray[np.int64], Ids]) -> Ids:
    """Put rows back in order; a group has the numbers of its rows, their ids and offsets."""
    lengths = np.zeros(sum(len(rows) for rows, _ in groups), np.int64)
    for rows, (_, offsets) in groups:
        lengths[rows] = np.diff(offsets)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.empty(int(starts[-1]), np.uint32)
    for rows, (ids, offsets) in groups:
        flat[np.repeat(starts[rows] - offsets[:-1], np.diff(offsets)) + np.arange(len(ids))] = ids
    return flat, starts


def _kernel(model: dict[str, Any]) -> WordPieces:
    """Give the vocabulary to the kernel."""
    mark = model.get("continuing_subword_prefix") or ""
    inside = [bool(mark) and piece.startswith(mark) for piece in model["vocab"]]
    pieces = column_of(
        [
            piece[len(mark) :] if within else piece
            for piece, within in zip(model["vocab"], inside, strict=True)
        ]
    )
    return WordPieces(
        pieces.buffer,
        np.append(pieces.starts, len(pieces.buffer)),
        np.array(list(model["vocab"].values()), np.uint32),
        np.array(inside, np.uint8),
        model["vocab"][model["unk_token"]],
        model.get("max_input_chars_per_word", 100),
    )
