"""SentencePiece ``.model`` files as a ``tokenizer.json``: byte-pair and Unigram models.

The file is a protocol buffer, of which four kinds of field are needed, so it is read here in a few lines instead of by a
library. What is made of it:

* Unigram: the pieces with their scores.
* Byte pairs: SentencePiece merges the neighbours whose joined piece has the highest score. ``tokenizer.json`` lists pairs
  in order instead, so every way to cut a piece into two others is listed, by the score of the piece.
* The normalizer: ``tokenizers`` has steps for it, and they are written into the file for others to read. But it matches
  SentencePiece's table by what a reader would call a character, SentencePiece by the longest run of code points, and they
  differ on letters with several marks. So a kernel does these steps here, exactly, before the encoder. A first step that
  never matches anything marks such a file.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import ConfigError
from samebits.kernels.tokens.pieces import normalize_pieces
from samebits.tokens.encoders.tokenizer_json import SIGN

__all__ = [
    "PieceNormalizer",
    "piece_normalizer",
    "sentencepiece_to_json",
    "without_normalizer",
]

SPACE = "\u2581"  # what stands for a space in a piece
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE = 1, 2


@dataclass
class _Model:
    """What is read of the file; the defaults are those of the format."""

    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    kind: int = UNIGRAM
    byte_fallback: bool = False
    space_after: bool = False
    character_map: bytes = b""
    dummy_prefix: bool = True
    collapse_spaces: bool = True
    escape_spaces: bool = True


def sentencepiece_to_json(document: bytes) -> bytes:
    """Return the ``tokenizer.json`` that gives the ids of a SentencePiece model.

    Raises:
        ConfigError: for a model of words or characters, or with settings that no ``tokenizer.json`` can express.
        ValueError: if the file is damaged.
    """
    model = _read(document)
    if model.kind not in (UNIGRAM, BPE):
        raise ConfigError("a SentencePiece model of words or characters", hint="use a unigram or bpe model")
    if model.space_after or not model.escape_spaces:
        raise ConfigError("the SentencePiece model keeps spaces at the end of words, or as they are")
    if not any(kind == UNKNOWN for _, _, kind in model.pieces):
        raise ConfigError("the SentencePiece model has no unknown piece")
    made = _unigram(model) if model.kind == UNIGRAM else _bpe(model)
    steps = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(model),
        "normalizer": _normalizer(model),
        "pre_tokenizer": _pre_tokenizer(model),
        "post_processor": None,
        "decoder": _decoder(model),
        "model": made,
    }
    return msgspec.json.encode(steps)


def _unigram(model: _Model) -> dict[str, Any]:
    unknown = next(i for i, (_, _, kind) in enumerate(model.pieces) if kind == UNKNOWN)
    vocabulary = [[_hidden(piece) if kind == UNUSED else piece, score] for piece, score, kind in model.pieces]
    return {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": vocabulary,
        "byte_fallback": model.byte_fallback,
    }


def _bpe(model: _Model) -> dict[str, Any]:
    ids = {piece: i for i, (piece, _, _) in enumerate(model.pieces)}
    parts = {piece for piece, _, kind in model.pieces if kind in (NORMAL, USER_DEFINED, UNUSED)}
    merges: list[tuple[float, int, int, str, str]] = []
    for piece, score, kind in model.pieces:
        if kind != NORMAL:
            continue
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in parts and right in parts:
                merges.append((-score, ids[left], ids[right], left, right))
    unknown = next(piece for piece, _, kind in model.pieces if kind == UNKNOWN)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": False,
        "vocab": ids,
        "merges": [[left, right] for *_, left, right in sorted(merges)],
    }


def _added_tokens(model: _Model) -> list[dict[str, Any]]:
    """Control pieces are never found in text; pieces that the user defined always are."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [
        {"id": i, "content": piece, **flags, "special": kind != USER_DEFINED}
        for i, (piece, _, kind) in enumerate(model.pieces)
        if kind in (CONTROL, UNKNOWN, USER_DEFINED)
    ]


def _normalizer(model: _Model) -> dict[str, Any] | None:
    """The steps of SentencePiece, in its order. A plain ``Strip`` would also take away line ends."""
    steps: list[dict[str, Any]] = [_replace({"Regex": SIGN}, "")]
    if model.character_map:
        table = base64.b64encode(model.character_map).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": table})
    if model.collapse_spaces:
        steps.append(_replace({"Regex": r"\A +| +\z"}, ""))
        steps.append(_replace({"Regex": " {2,}"}, " "))
    if model.dummy_prefix:
        steps.append({"type": "Prepend", "prepend": SPACE})
    steps.append(_replace({"String": " "}, SPACE))
    return {"type": "Sequence", "normalizers": steps}


@dataclass(frozen=True)
class PieceNormalizer:
    """The normalizer of one model.

    Attributes:
        units: Its trie; empty for none.
        strings: The texts that the trie's values point to.
        symbols: Texts that stay as they are.
        dummy_prefix: Whether a text begins with a space.
        collapse_spaces: Whether several spaces become one.
    """

    units: NDArray[np.uint32]
    strings: bytes
    symbols: tuple[bytes, ...]
    dummy_prefix: bool
    collapse_spaces: bool

    def normalize(self, texts: TextColumn) -> TextColumn:
        """Return the texts as the encoder gets them."""
        ends = np.cumsum([len(symbol) for symbol in self.symbols], dtype=np.int64)
        buffer, offsets = normalize_pieces(
            texts.buffer,
            texts.starts,
            texts.stops,
            self.units,
            self.strings,
            b"".join(self.symbols),
            ends,
            self.dummy_prefix,
            self.collapse_spaces,
        )
        return TextColumn(buffer, offsets[:-1], offsets[1:])


def piece_normalizer(document: bytes) -> PieceNormalizer:
    """Return the normalizer of a ``tokenizer.json`` that ``sentencepiece_to_json`` made."""
    parsed = msgspec.json.decode(document)
    steps = parsed["normalizer"]["normalizers"]
    table = next(
        (base64.b64decode(s["precompiled_charsmap"]) for s in steps if s["type"] == "Precompiled"), b""
    )
    size = int.from_bytes(table[:4], "little")
    added = parsed.get("added_tokens") or []
    return PieceNormalizer(
        np.frombuffer(table[4 : 4 + size // 4 * 4], "<u4"),
        table[4 + size :],
        tuple(token["content"].encode() for token in added if not token["special"]),
        any(step["type"] == "Prepend" for step in steps),
        any(step.get("pattern") == {"Regex": " {2,}"} for step in steps),
    )


def without_normalizer(document: bytes) -> bytes:
    """Return such a file for an encoder that gets texts which are normalized already.

    Unigram would find control pieces that are written out in a text; SentencePiece never does, so they are hidden. The step
    that matches nothing stays and says whose arithmetic is wanted.
    """
    parsed = msgspec.json.decode(document)
    normalizer = None
    if parsed["model"]["type"] == "Unigram":
        normalizer = _replace({"Regex": SIGN}, "")
        special = {token["id"] for token in parsed["added_tokens"] if token["special"]}
        pieces = parsed["model"]["vocab"]
        parsed["model"]["vocab"] = [
            [_hidden(piece) if i in special else piece, score] for i, (piece, score) in enumerate(pieces)
        ]
        parsed["added_tokens"] = [token for token in parsed["added_tokens"] if not token["special"]]
    return msgspec.json.encode({**parsed, "normalizer": normalizer})


def _hidden(piece: str) -> str:
    """Return a piece that no text contains: a normalized text has no space."""
    return f" {piece}"


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _pre_tokenizer(model: _Model) -> dict[str, Any] | None:
    """Cut before every space where no piece goes across one, which is far faster and cannot change the pieces."""
    if model.kind == BPE or any(SPACE in piece[1:] for piece, _, _ in model.pieces):
        return None
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": True}


def _decoder(model: _Model) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}]
    if model.byte_fallback:
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    if model.dummy_prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _read(document: bytes) -> _Model:
    model = _Model()
    for number, value in _fields(document):
        if number == 1:
            piece = dict(_fields(value))
            score = struct.unpack("<f", piece.get(2, bytes(4)))[0]
            model.pieces.append((piece[1].decode(), score, piece.get(3, NORMAL)))
        elif number == 2:
            trainer = dict(_fields(value))
            model.kind = trainer.get(3, UNIGRAM)
            model.byte_fallback = bool(trainer.get(35, 0))
            model.space_after = bool(trainer.get(24, 0))
        elif number == 3:
            normalizer = dict(_fields(value))
            model.character_map = normalizer.get(2, b"")
            model.dummy_prefix = bool(normalizer.get(3, 1))
            model.collapse_spaces = bool(normalizer.get(4, 1))
            model.escape_spaces = bool(normalizer.get(5, 1))
    return model


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of a protocol buffer: whole numbers as int, everything else as bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            size, at = _varint(data, at)
        if size is None or at + size > len(data):
            raise ValueError(f"damaged at byte {at}")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError(f"damaged at byte {at}")
