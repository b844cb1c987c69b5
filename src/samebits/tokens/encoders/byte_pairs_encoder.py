"""Byte-level byte pairs by our own kernel: files that cut texts as GPT-2, Llama 3 or Qwen 2 do and have no normalizer.

All threads share one memory of pre-tokens, and only a new one is put in under a lock, so two workers are nearly twice as fast as one;
gigatoken, which is as fast in one thread, lets one thread in at a time (docs/decisions/own-byte-pairs.md has the figures).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from samebits.kernels.tokens.byte_pairs.json_rows import encode_json_cell
from samebits.kernels.tokens.byte_pairs.pair_memory import PairMemory
from samebits.kernels.tokens.byte_pairs.pair_merges import PairMerges
from samebits.machine import early_start
from samebits.tokens.character_classes import character_classes
from samebits.tokens.encoders.allow_list import (
    LLAMA3_SPLIT,
    PRE_TOKENIZERS,
    QWEN2_SPLIT,
    byte_alphabet,
    same_step,
    why_not_byte_level,
    without_special_tokens,
)
from samebits.tokens.encoders.tokenizer_json import TokenizerJson, read_tokenizer_json

if TYPE_CHECKING:  # NumPy need not be there when the first cells are encoded
    from samebits.data.readers.rowblock import TextColumn
    from samebits.tokens.encoders.interface import Ids, Rows, SpecialTokens

__all__ = ["EARLY", "BytePairsEncoder", "make_byte_pairs", "why_not"]

ALLOWED_PRE_TOKENIZERS = {
    "ByteLevel": 0,
    LLAMA3_SPLIT: 3,
    QWEN2_SPLIT: 1,
}  # digits of a pre-token, as the kernel takes them
EARLY = "byte pairs"  # what ``machine.early_start`` calls a file and its encoder, begun before the command is known
MAX_BYTES = 192 << 20  # of the memory; it is begun anew when it is larger


class BytePairsEncoder:
    """The merges of a file, and a memory of pre-tokens that threads share."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        file = read_tokenizer_json(document)
        steps, wanted = ALLOWED_PRE_TOKENIZERS.items(), file.rest.get("pre_tokenizer")
        self._digits = next(n for name, n in steps if same_step(wanted, PRE_TOKENIZERS[name]))
        self._merges = _read_merges(file)
        self._whole = _whole_tokens(file.vocab) if file.model.get("ignore_merges") else None
        self._memory = self._new_memory()

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        return self._known().encode(texts.buffer, texts.starts, texts.stops, character_classes())

    def encode_rows(self, texts: TextColumn, before: Sequence[int], after: Sequence[int]) -> Rows:
        """Encode the rows of a column to 16 bits, each between the same other ids."""
        around = (array("H", ids) for ids in (before, after))
        return self._known().encode_rows(
            texts.buffer, texts.starts, texts.stops, character_classes(), *around
        )

    def encode_json_cell(
        self, data: memoryview, start: int, stop: int, *, is_end: bool, column: str, after: Sequence[int]
    ) -> tuple[bytearray, ...] | None:
        """Encode the lines that begin in a part of some bytes as ``encode_rows`` would; see the kernel."""
        key, ends = column.encode(), array("H", after)
        return encode_json_cell(self._known(), data, start, stop, is_end, key, character_classes(), ends)

    def _known(self) -> PairMemory:
        memory = self._memory
        if memory.num_bytes > MAX_BYTES:
            # others go on with the old one to the end of their texts
            memory = self._memory = self._new_memory()
        return memory

    def _new_memory(self) -> PairMemory:
        memory = PairMemory(self._merges, self._digits)
        if self._whole is not None:
            memory.know(*self._whole)
        return memory


def make_byte_pairs(document: bytes, special_tokens: SpecialTokens = "text") -> BytePairsEncoder:
    """Make the encoder of a file, or take the one that was begun early."""
    found, encoder = early_start.take(EARLY) or (b"", None)
    return (
        encoder if encoder is not None and found == document else BytePairsEncoder(document, special_tokens)
    )


def _read_merges(file: TokenizerJson) -> PairMerges:
    """Return the merges of a file as pairs of ids.

    Raises:
        ValueError: if a merge has no id, or is not a pair.
    """
    table = file.table
    try:
        pairs = table.pairs(file.merges)
        return PairMerges(*pairs, table.ids([char.encode() for char in byte_alphabet()]))
    except KeyError as error:
        raise ValueError(f"a merge of {error} has no id") from None


def _whole_tokens(vocab: memoryview) -> tuple[bytes, array[int], array[int]]:
    """Return the bytes of all tokens, where each begins, and their ids; a name that spells no bytes is left out."""
    ids: dict[str, int] = json.loads(bytes(vocab))
    alphabet = byte_alphabet()
    known = set(alphabet)
    spelled = {piece: i for piece, i in ids.items() if piece and known.issuperset(piece)}
    table = {ord(char): byte for byte, char in enumerate(alphabet)}
    offsets = array("q", accumulate(map(len, spelled), initial=0))
    data = "".join(spelled).translate(table).encode("latin-1")
    return data, offsets, array("I", spelled.values())


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why a parsed tokenizer.json is not on the list; empty when it is."""
    if special_tokens == "text":
        document = without_special_tokens(document)
    elif document.get("added_tokens"):
        return "special tokens become ids"
    pre_tokenizers = [PRE_TOKENIZERS[name] for name in ALLOWED_PRE_TOKENIZERS]
    return why_not_byte_level(document, [None], pre_tokenizers, ignore_merges=True)
