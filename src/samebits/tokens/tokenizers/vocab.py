"""The tokenizers that are a plain table: bytes, characters, words. All ids come from Cython kernels.

``byte.v1``  id = byte; special tokens from 256 on; nothing is unknown; decoding gives the text back.
``char.v1``  id by Unicode character; decoding gives the text back unless a character was unknown.
``word.v1``  words between white space (ASCII 9-13 and 32), each ASCII punctuation mark except ``' - _`` alone;
             decoding joins words with single spaces.

A learned vocabulary is ordered by (-count, bytes), so it does not depend on who counted what first. The version in
the name is raised when ids would change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.readers.rowblock import TextColumn
from samebits.errors import ConfigError
from samebits.kernels.tokens.chars import bytes_to_ids, chars_to_ids
from samebits.kernels.tokens.words import ALONE, SPACE, WORD, build_table, words_to_ids
from samebits.tokens.tokenizers.special_ids import SPECIAL_NAMES, Specials

__all__ = [
    "WORD_CLASSES",
    "ByteTokenizer",
    "CharTokenizer",
    "Encoded",
    "Tokenizer",
    "WordTokenizer",
    "table_tokenizer",
]

FIRST_ID = len(SPECIAL_NAMES)  # of a learned vocabulary: the specials come first
FORMAT_KEY = "samebits_tokenizer"


class Encoded(NamedTuple):
    """Ids of many texts: text ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    num_unknown: int


class Tokenizer(Protocol):
    """Texts to ids and back. Plain data underneath: it is pickled to workers and saved with the store."""

    @property
    def kind(self) -> str:
        """Versioned name, e.g. ``byte.v1``."""
        ...

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        ...

    @property
    def specials(self) -> Specials:
        """Ids of the special tokens."""
        ...

    @property
    def special_names(self) -> tuple[str, ...]:
        """How the special tokens are written."""
        ...

    @property
    def note(self) -> str:
        """Which library encodes, and why; for people, never for results."""
        ...

    def encode(self, texts: TextColumn) -> Encoded:
        """Encode every text; special tokens written in a text stay plain text."""
        ...

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Return readable text; special tokens by name."""
        ...

    def dump(self) -> bytes:
        """Return the tokenizer file."""
        ...


def _word_classes() -> NDArray[np.uint8]:
    classes = np.full(256, WORD, np.uint8)
    classes[list(b" \t\n\r\x0b\x0c")] = SPACE
    classes[list(b'!"#$%&()*+,./:;<=>?@[\\]^`{|}~')] = ALONE
    return classes


WORD_CLASSES = _word_classes()
LEARNED_SPECIALS = Specials(*range(FIRST_ID))
UNKNOWN_ID = list(SPECIAL_NAMES).index("unk")

_Slots = tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]


@dataclass(frozen=True)
class ByteTokenizer:
    """``byte.v1``: the id of a byte is the byte."""

    kind: ClassVar[str] = "byte.v1"
    vocab_size: ClassVar[int] = 260
    specials: ClassVar[Specials] = Specials(pad=257, unk=None, bos=258, sep=259, eos=256)
    note: ClassVar[str] = "byte kernel"
    special_names: ClassVar[tuple[str, ...]] = tuple(SPECIAL_NAMES.values())

    def encode(self, texts: TextColumn) -> Encoded:
        """Copy the bytes."""
        return Encoded(*bytes_to_ids(texts.buffer, texts.starts, texts.stops), 0)

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Decode UTF-8; broken sequences (a row cut inside a character) show as U+FFFD."""
        names = {getattr(self.specials, key): name for key, name in SPECIAL_NAMES.items()}
        data = b"".join(names[i].encode() if i > 255 else bytes((i,)) for i in map(int, ids))
        return data.decode("utf-8", "replace")

    def dump(self) -> bytes:
        """Return the file: the name says it all."""
        return _dump(self.kind, [])


@dataclass(frozen=True)
class CharTokenizer:
    """``char.v1``: a learned set of characters."""

    chars: tuple[str, ...]
    kind: ClassVar[str] = "char.v1"
    specials: ClassVar[Specials] = LEARNED_SPECIALS
    note: ClassVar[str] = "char kernel"
    special_names: ClassVar[tuple[str, ...]] = tuple(SPECIAL_NAMES.values())

    @property
    def vocab_size(self) -> int:
        """Specials and characters."""
        return FIRST_ID + len(self.chars)

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        table = np.full(0x110000, -1, np.int32)
        table[[ord(char) for char in self.chars]] = np.arange(FIRST_ID, self.vocab_size)
        return table

    def encode(self, texts: TextColumn) -> Encoded:
        """Look every character up."""
        return Encoded(*chars_to_ids(texts.buffer, texts.starts, texts.stops, self._table, UNKNOWN_ID))

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Join the characters."""
        names = (*SPECIAL_NAMES.values(), *self.chars)
        return "".join(names[int(i)] for i in ids)

    def dump(self) -> bytes:
        """Return the file with the characters in the order of their ids."""
        return _dump(self.kind, list(self.chars))


@dataclass(frozen=True)
class WordTokenizer:
    """``word.v1``: a learned set of words."""

    words: tuple[str, ...]
    kind: ClassVar[str] = "word.v1"
    specials: ClassVar[Specials] = LEARNED_SPECIALS
    note: ClassVar[str] = "word kernel"
    special_names: ClassVar[tuple[str, ...]] = tuple(SPECIAL_NAMES.values())

    @property
    def vocab_size(self) -> int:
        """Specials and words."""
        return FIRST_ID + len(self.words)

    @cached_property
    def _table(self) -> tuple[bytes, NDArray[np.int64], _Slots]:
        encoded = [word.encode() for word in self.words]
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        arena = b"".join(encoded)
        return arena, offsets, build_table(arena, offsets)

    def encode(self, texts: TextColumn) -> Encoded:
        """Look every word up."""
        arena, words, (slots, heads, singles) = self._table
        ids, offsets, num_unknown = words_to_ids(
            texts.buffer,
            texts.starts,
            texts.stops,
            WORD_CLASSES,
            arena,
            words,
            slots,
            heads,
            singles,
            FIRST_ID,
            UNKNOWN_ID,
        )
        return Encoded(ids, offsets, num_unknown)

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Join the words with spaces: white space itself is not kept."""
        names = (*SPECIAL_NAMES.values(), *self.words)
        return " ".join(names[int(i)] for i in ids)

    def dump(self) -> bytes:
        """Return the file with the words in the order of their ids."""
        return _dump(self.kind, list(self.words))


def _dump(kind: str, vocabulary: list[str]) -> bytes:
    import msgspec  # only here, and it takes 6 ms

    text = msgspec.json.encode({FORMAT_KEY: kind, "specials": SPECIAL_NAMES, "vocabulary": vocabulary})
    return msgspec.json.format(text, indent=1) + b"\n"


def table_tokenizer(document: dict[str, Any]) -> Tokenizer:
    """Rebuild a tokenizer from its parsed file.

    Raises:
        ConfigError: for an unknown kind, a repeated entry, or an entry the kind cannot have.
    """
    kind, vocabulary = document.get(FORMAT_KEY), document.get("vocabulary")
    if not isinstance(vocabulary, list) or not all(isinstance(item, str) and item for item in vocabulary):
        raise ConfigError("the tokenizer file has no list 'vocabulary' of texts")
    if len(set(vocabulary)) != len(vocabulary):
        raise ConfigError("the tokenizer file lists an entry twice")
    if kind == ByteTokenizer.kind:
        return ByteTokenizer()
    if kind == WordTokenizer.kind:
        return WordTokenizer(tuple(vocabulary))
    if kind == CharTokenizer.kind:
        if any(len(item) != 1 for item in vocabulary):
            raise ConfigError("the vocabulary of char.v1 has an entry that is not one character")
        return CharTokenizer(tuple(vocabulary))
    raise ConfigError(f"the tokenizer file is of kind {kind!r}", hint="known: byte.v1, char.v1, word.v1")
