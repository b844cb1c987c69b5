"""Byte-pair encoding by the fastest library that gives exactly the ids of ``tokenizers``.

* ``choose_library`` takes fastokens when the file is on the allow-list and a probe agrees, else ``tokenizers``.
* Special tokens written in a text stay plain text in both: a document cannot inject ``<|endoftext|>``.
* Threads inside the libraries are switched off: a worker is one core. fastokens sizes its pool by the CPUs the first
  caller may use, so its first call is made with one; ``tokenizers`` obeys variables that the command line sets.
* Word caches grow without limit, so an encoder is replaced when the process uses more than its memory budget. Ids do
  not depend on the cache.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import ConfigError, MissingExtra
from samebits.kernels.tokens.chars import rows_to_strings
from samebits.machine import early_start as early
from samebits.machine.one_cpu import one_cpu
from samebits.tokens.encoders.bpe_probe import probe_key, probe_texts, remember, was_equal
from samebits.tokens.encoders.bpe_rules import why_slow
from samebits.tokens.encoders.vocab import SPECIAL_NAMES, Encoded, Specials

__all__ = [
    "BpeTokenizer",
    "FastEncoder",
    "ReferenceEncoder",
    "bpe_tokenizer",
    "choose_library",
    "import_tokenizers",
]

# Other people's names for the special tokens, tried in this order after our own.
KNOWN_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|finetune_right_pad_id|>", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]"),
    "bos": ("<|begin_of_text|>", "<s>", "[CLS]", "<|startoftext|>"),
    "sep": ("[SEP]", "<sep>"),
    "eos": ("<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "[SEP]"),
}
BATCH_ROWS = 1000  # strings handed over at once: a few MB, so their copies stay small
MIN_BYTES_PER_ENCODER = 50 << 20  # a new encoder costs 0.3 s and a cold cache; less text would not pay for it


class Encoder(Protocol):
    """A live library object; made per process, never pickled."""

    def encode_strings(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return ids and ``len(texts) + 1`` offsets."""
        ...


class ReferenceEncoder:
    """``tokenizers``: it defines the ids. They come out as Python lists, the slow part of its interface."""

    def __init__(self, document: bytes) -> None:
        self.library = import_tokenizers().Tokenizer.from_buffer(document)
        self.library.encode_special_tokens = True  # "<|endoftext|>" inside a text stays plain text

    def encode_strings(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode without the post-processor's additions."""
        rows = [row.ids for row in self.library.encode_batch_fast(texts, add_special_tokens=False)]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        ids = np.fromiter((i for row in rows for i in row), np.uint32, int(offsets[-1]))
        return ids, offsets


class FastEncoder:
    """fastokens: ids as two buffers, no Python object per token."""

    def __init__(self, document: bytes) -> None:
        try:
            from fastokens._native import Tokenizer
        except ImportError:
            raise MissingExtra("fastokens", extra="tokens", needed_for="fast BPE encoding") from None
        begun = early.take(f"fastokens {hashlib.sha256(document).hexdigest()}")
        self.library = begun or Tokenizer.from_json_str(document.decode())
        with one_cpu():
            self.encode_strings(["a"])

    def encode_strings(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Encode; special tokens in the text stay plain text."""
        ids, offsets = self.library.encode_batch_flat(texts, split_special_tokens=True)
        return np.frombuffer(ids, "<u4"), np.frombuffer(offsets, "<u8").astype(np.int64)


def import_tokenizers() -> Any:
    """Return the library, or say how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise MissingExtra("tokenizers", extra="tokens", needed_for="BPE") from None
    return tokenizers


def choose_library(document: bytes) -> tuple[str, str]:
    """Return the library to use for a tokenizer.json and the sentence that explains it."""
    try:
        key = probe_key(document)
        if was_equal(key):
            return "fastokens", "fastokens: on the allow-list; probed equal to tokenizers before"
        reason = why_slow(msgspec.json.decode(document))
        if reason:
            return "tokenizers", f"tokenizers: {reason}"
        texts = probe_texts()
        encoder = FastEncoder(document)
        ours = encoder.encode_strings(texts)
    except (ImportError, MissingExtra, ValueError) as error:
        return "tokenizers", f"tokenizers: fastokens cannot be used ({error})"
    theirs = ReferenceEncoder(document).encode_strings(texts)
    if not (np.array_equal(ours[0], theirs[0]) and np.array_equal(ours[1], theirs[1])):
        return "tokenizers", f"tokenizers: fastokens gave other ids on {len(texts)} probe texts"
    remember(key)
    with _LOCK:
        _LIVE["fastokens", hashlib.sha256(document).hexdigest()] = _Live(encoder)  # 0.3 s to make another
    return "fastokens", f"fastokens: on the allow-list; equal to tokenizers on {len(texts)} probe texts"


@dataclass
class _Live:
    """The encoder of this process for one tokenizer, shared by its threads."""

    encoder: Encoder
    num_bytes: int = 0


_LIVE: dict[tuple[str, str], _Live] = {}
_LOCK = threading.Lock()


def _rss_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0  # not Linux: encoders are then never replaced


@dataclass(frozen=True)
class BpeTokenizer:
    """``bpe.v1``: a tokenizer.json of Hugging Face's format.

    Attributes:
        document: The file.
        special_ids: Ids of the special tokens.
        library: ``fastokens`` or ``tokenizers``.
        note: Why that library.
        memory_bytes: Above this resident size an encoder that has read enough is replaced.
    """

    document: bytes
    special_ids: Specials
    vocab_size: int
    library: str
    note: str
    memory_bytes: int = 300 << 20
    kind: ClassVar[str] = "bpe.v1"

    @property
    def specials(self) -> Specials:
        """Ids of the special tokens."""
        return self.special_ids

    @cached_property
    def _key(self) -> tuple[str, str]:
        return self.library, hashlib.sha256(self.document).hexdigest()

    def _encoder(self, num_bytes: int) -> Encoder:
        with _LOCK:
            live = _LIVE.get(self._key)
            if live is None or (live.num_bytes > MIN_BYTES_PER_ENCODER and _rss_bytes() > self.memory_bytes):
                _LIVE.clear()
                del live  # free the old cache before the new one is made
                make = FastEncoder if self.library == "fastokens" else ReferenceEncoder
                live = _LIVE[self._key] = _Live(make(self.document))
            live.num_bytes += num_bytes
            return live.encoder

    def encode(self, texts: TextColumn) -> Encoded:
        """Encode in batches, so that the Python strings of a shard never exist all at once."""
        ids: list[NDArray[np.uint32]] = []
        ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        base = 0
        encoder = self._encoder(int((texts.stops - texts.starts).sum()))
        for row in range(0, len(texts.starts), BATCH_ROWS):
            rows = slice(row, row + BATCH_ROWS)
            strings = rows_to_strings(texts.buffer, texts.starts[rows], texts.stops[rows])
            flat, offsets = encoder.encode_strings(strings)
            ids.append(flat)
            ends.append(offsets[1:] + base)
            base += len(flat)
        flat = ids[0] if len(ids) == 1 else np.concatenate([np.zeros(0, np.uint32), *ids])
        return Encoded(flat, np.concatenate(ends), 0)

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Decode with ``tokenizers``; special tokens by name."""
        return str(self._reference.library.decode([int(i) for i in ids], skip_special_tokens=False))

    @cached_property
    def _reference(self) -> ReferenceEncoder:
        return ReferenceEncoder(self.document)

    def dump(self) -> bytes:
        """Return the file as it came."""
        return self.document

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields alone: library objects are made anew in each process."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


class _Model(msgspec.Struct):
    vocab: msgspec.Raw = msgspec.Raw(b"{}")


class _AddedToken(msgspec.Struct):
    id: int
    content: str
    special: bool = False


class _TokenizerFile(msgspec.Struct):
    """What is read of a tokenizer.json here; the merges, most of the file, are left to the library."""

    model: _Model
    added_tokens: list[_AddedToken] = []  # msgspec copies it
    truncation: Any = None
    padding: Any = None


def bpe_tokenizer(document: bytes, *, memory_bytes: int = 300 << 20) -> BpeTokenizer:
    """Check a tokenizer.json and choose its library.

    Raises:
        ConfigError: if the file sets truncation or padding, which would change what is stored.
        msgspec.DecodeError: if it is not such a file.
    """
    file = msgspec.json.decode(document, type=_TokenizerFile)
    for setting in ("truncation", "padding"):
        if getattr(file, setting):
            raise ConfigError(
                f"the tokenizer file sets {setting}, which would change the stored tokens",
                hint=f"remove {setting!r} from it; --max-length and --truncate do this here",
            )
    library, note = choose_library(document)
    ids = [token.id for token in file.added_tokens]
    vocabulary = msgspec.json.decode(file.model.vocab)
    # a dict of ids, or for Unigram a list of (piece, score)
    ids += vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
    specials = _specials({token.content: token.id for token in file.added_tokens if token.special})
    return BpeTokenizer(document, specials, max(ids, default=-1) + 1, library, note, memory_bytes)


def _specials(special: dict[str, int]) -> Specials:
    found: dict[str, int | None] = {}
    for key, ours in SPECIAL_NAMES.items():
        names = (ours, *KNOWN_NAMES[key])
        found[key] = next((special[name] for name in names if name in special), None)
    if found["pad"] is None:  # lengths say where padding begins, so any id will do
        found["pad"] = found["eos"] or 0
    return Specials(**found)  # type: ignore[arg-type]  # pad is an int by now
