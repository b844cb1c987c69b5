"""From what the user typed after ``--tokenizer`` to a tokenizer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from samebits.errors import ConfigError, InputError, did_you_mean
from samebits.tokens.encoders.bpe import bpe_tokenizer
from samebits.tokens.encoders.vocab import FORMAT_KEY, ByteTokenizer, Tokenizer, table_tokenizer

__all__ = ["LEARNED", "load_tokenizer", "open_tokenizer", "read_tokenizer_file", "tokenizer_digest"]

SNIFF_BYTES = 100  # our own files say what they are in their first line
LEARNED = ("char", "word", "bpe")  # names that mean: learn it from the data first


def open_tokenizer(name: str, *, memory_bytes: int = 300 << 20) -> Tokenizer:
    """Open ``byte``, or a file (or a folder with a ``tokenizer.json``).

    Raises:
        InputError: if there is no such file or it is no tokenizer.
        ConfigError: if the file has settings that cannot be honoured.
    """
    if name == "byte":
        return ByteTokenizer()
    return load_tokenizer(read_tokenizer_file(name), name=name, memory_bytes=memory_bytes)


def read_tokenizer_file(name: str) -> bytes:
    """Return the bytes of a tokenizer file."""
    path = Path(name)
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        return path.read_bytes()
    except OSError as error:
        hint = did_you_mean(name, ("byte", *LEARNED)) + ", or the path of a tokenizer.json"
        raise InputError(f"no tokenizer: {error.strerror}", path=str(path), hint=hint) from None


def tokenizer_digest(name: str) -> str:
    """Return what identifies a tokenizer in a plan: its name, or the content of its file."""
    if name == "byte" or name in LEARNED:
        return name
    return hashlib.sha256(read_tokenizer_file(name)).hexdigest()


def load_tokenizer(document: bytes, *, name: str, memory_bytes: int = 300 << 20) -> Tokenizer:
    """Build a tokenizer from the bytes of its file; ``name`` is for messages."""
    try:
        if document[:SNIFF_BYTES].find(FORMAT_KEY.encode()) >= 0:
            return table_tokenizer(msgspec.json.decode(document, type=dict[str, Any]))
        return bpe_tokenizer(document, memory_bytes=memory_bytes)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "give a tokenizer.json of Hugging Face, or one that tokens train-tokenizer wrote"
        raise InputError(f"not a tokenizer file: {error}", path=name, hint=hint) from None
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}", hint=error.hint) from None
