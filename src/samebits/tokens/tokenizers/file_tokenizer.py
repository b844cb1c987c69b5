"""A tokenizer file: ``tokenizer.json`` of Hugging Face's format, encoded by the fastest library that gives exactly its ids.

* ``table.choose_encoder`` says which library that is.
* Special tokens written in a text stay plain text unless the user asks for ids: a document cannot inject ``<|endoftext|>``.
* Threads inside the libraries are switched off: a worker is one core.
* Word caches grow without limit, so an encoder is replaced when the process uses more than its memory budget. Ids do
  not depend on the cache.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.readers.rowblock import TextColumn
from samebits.errors import ConfigError
from samebits.tokens.early.first_cells import taken_rows
from samebits.tokens.encoders.interface import Encoder, RowEncoder, Rows, SpecialTokens
from samebits.tokens.encoders.probe_memory import document_digest
from samebits.tokens.encoders.table import ENCODERS, choose_encoder, make_encoder
from samebits.tokens.encoders.tokenizer_json import SIGN, added_tokens, num_ids, read_tokenizer_json
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder
from samebits.tokens.tokenizers.special_ids import Specials, special_ids
from samebits.tokens.tokenizers.vocab import Encoded

if TYPE_CHECKING:
    from samebits.tokens.tokenizers.sentencepiece_file import PieceNormalizer

__all__ = ["FileTokenizer", "file_tokenizer"]

BATCH_ROWS = 1000  # texts handed over at once: a few MB, so their copies stay small
NARROW = 1 << 16
MIN_BYTES_PER_ENCODER = 50 << 20  # a new encoder costs 0.3 s and a cold cache; less text would not pay for it


@dataclass
class _Live:
    """The encoder of this process for one tokenizer, shared by its threads."""

    encoder: Encoder
    num_bytes: int = 0


_LIVE: dict[tuple[str, str, str], _Live] = {}
_LOCK = threading.Lock()


def _rss_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0  # not Linux: encoders are then never replaced


@dataclass(frozen=True)
class FileTokenizer:
    """A file and the encoder chosen for it.

    Attributes:
        document: The file.
        kind: Versioned name of its family, e.g. ``bpe.v1``.
        special_ids: Ids of the special tokens.
        vocab_size: One more than the largest id.
        library: Name of the encoder.
        note: Why that one.
        special_tokens: What special tokens inside a text become.
        special_names: How they are written.
        memory_bytes: Above this resident size an encoder that has read enough is replaced.
    """

    document: bytes
    kind: str
    special_ids: Specials
    vocab_size: int
    library: str
    note: str
    special_tokens: SpecialTokens = "text"
    special_names: tuple[str, ...] = ()
    memory_bytes: int = 300 << 20

    @property
    def specials(self) -> Specials:
        """Ids of the special tokens."""
        return self.special_ids

    @cached_property
    def _normalizer(self) -> PieceNormalizer | None:
        """What SentencePiece does to a text first, if the file was made of one of its models."""
        return _piece_normalizer(self.document)

    @cached_property
    def _encoded_by(self) -> bytes:
        """The file as the encoder gets it."""
        return _without_normalizer(self.document)

    @cached_property
    def _key(self) -> tuple[str, str, str]:
        return self.library, self.special_tokens, document_digest(self.document)

    def _encoder(self, num_bytes: int) -> Encoder:
        with _LOCK:
            live = _LIVE.get(self._key)
            if live is None or (live.num_bytes > MIN_BYTES_PER_ENCODER and _rss_bytes() > self.memory_bytes):
                _LIVE.clear()
                del live  # free the old cache before the new one is made
                live = _LIVE[self._key] = _Live(
                    make_encoder(self.library, self._encoded_by, self.special_tokens)
                )
            live.num_bytes += num_bytes
            return live.encoder

    def encode(self, texts: TextColumn) -> Encoded:
        """Encode in batches, so that the Python objects of a shard never exist all at once."""
        ids: list[NDArray[np.uint32]] = []
        ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        base = 0
        encoder = self._encoder(int((texts.stops - texts.starts).sum()))
        for row in range(0, len(texts.starts), BATCH_ROWS):
            rows = slice(row, row + BATCH_ROWS)
            batch = TextColumn(texts.buffer, texts.starts[rows], texts.stops[rows])
            if self._normalizer is not None:
                batch = self._normalizer.normalize(batch)
            flat, offsets = encoder.encode_texts(batch)
            ids.append(flat)
            ends.append(offsets[1:] + base)
            base += len(flat)
        flat = ids[0] if len(ids) == 1 else np.concatenate([np.zeros(0, np.uint32), *ids])
        return Encoded(flat, np.concatenate(ends), 0)

    @property
    def writes_rows(self) -> bool:
        """Whether ``encode_rows`` can be used: the library can, and ids fit 16 bits."""
        fits = self.vocab_size <= NARROW and self._normalizer is None
        return fits and ENCODERS[self.library].writes_rows

    def encode_rows(self, texts: TextColumn, before: Sequence[int], after: Sequence[int]) -> Rows:
        """Encode all texts at once to rows of 16 bits, each text between the same other ids."""
        encoder = cast(RowEncoder, self._encoder(int((texts.stops - texts.starts).sum())))
        return taken_rows(texts) or encoder.encode_rows(texts, before, after)

    @property
    def encoder(self) -> Encoder:
        """The library object at work."""
        return self._encoder(0)

    def decode(self, ids: Sequence[int] | NDArray[Any]) -> str:
        """Decode with ``tokenizers``; special tokens by name."""
        return str(self._reference.library.decode([int(i) for i in ids], skip_special_tokens=False))

    @cached_property
    def _reference(self) -> ReferenceEncoder:
        return ReferenceEncoder(self.document)

    def dump(self) -> bytes:
        """Return the file as it came, or what a file of another format was turned into."""
        return self.document

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields alone: library objects are made anew in each process."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


def file_tokenizer(
    document: bytes, *, memory_bytes: int = 300 << 20, special_tokens: SpecialTokens = "text"
) -> FileTokenizer:
    """Check a tokenizer.json and choose its encoder.

    Raises:
        ConfigError: if the file sets truncation or padding, which would change what is stored.
        ValueError: if it is not such a file.
    """
    file = read_tokenizer_json(document)
    family = str(file.model.get("type") or "BPE")
    for setting in ("truncation", "padding"):
        if file.rest.get(setting):
            raise ConfigError(
                f"the tokenizer file sets {setting}, which would change the stored tokens",
                hint=f"remove {setting!r} from it; --max-length and --truncate do this here",
            )
    if _piece_normalizer(document) is not None and family == "Unigram" and special_tokens == "ids":
        hint = "use --special-tokens text"
        raise ConfigError("a unigram model of SentencePiece never finds special tokens in text", hint=hint)
    choice = choose_encoder(_without_normalizer(document), special_tokens)
    added = added_tokens(file)
    special = {token.content: token.id for token in added if token.special}
    made = FileTokenizer(
        document,
        f"{family.lower()}.v1",
        special_ids(special),
        num_ids(file),
        choice.name,
        choice.note,
        special_tokens,
        tuple(special),
        memory_bytes,
    )
    if choice.live is not None:
        with _LOCK:
            _LIVE[made._key] = _Live(choice.live)  # 0.3 s to make another
    return made


def _piece_normalizer(document: bytes) -> PieceNormalizer | None:
    """Ask ``sentencepiece_file``, which most files do not need."""
    if document.find(SIGN.encode()) < 0:
        return None
    from samebits.tokens.tokenizers.sentencepiece_file import piece_normalizer

    return piece_normalizer(document)


def _without_normalizer(document: bytes) -> bytes:
    if document.find(SIGN.encode()) < 0:
        return document
    from samebits.tokens.tokenizers.sentencepiece_file import without_normalizer

    return without_normalizer(document)
