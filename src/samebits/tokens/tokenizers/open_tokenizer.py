"""From what the user typed after ``--tokenizer`` to a tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from samebits.core.regular_file import read_regular
from samebits.errors import ConfigError, InputError, did_you_mean
from samebits.tokens.encoders.interface import SpecialTokens
from samebits.tokens.encoders.probe_memory import document_digest
from samebits.tokens.tokenizers.file_tokenizer import file_tokenizer
from samebits.tokens.tokenizers.names import BUILT_IN, LEARNED, PREFIX, built_in
from samebits.tokens.tokenizers.tiktoken_file import looks_like_tiktoken, split_pattern_name, tiktoken_to_json
from samebits.tokens.tokenizers.vocab import FORMAT_KEY, ByteTokenizer, Tokenizer, table_tokenizer

__all__ = [
    "LEARNED",
    "built_in",
    "load_tokenizer",
    "looks_like_sentencepiece",
    "open_tokenizer",
    "read_tokenizer_file",
    "refuse_ambiguous",
    "tokenizer_digest",
]

FIRST_FIELD = 0x0A  # the tag of a piece, with which every model of SentencePiece begins
SNIFF_BYTES = 100  # our own files say what they are in their first line
FOLDER_FILES = ("tokenizer.json", "tokenizer.model")  # what is looked for in a folder, in this order


def open_tokenizer(
    name: str, *, memory_bytes: int = 300 << 20, special_tokens: SpecialTokens = "text"
) -> Tokenizer:
    """Open ``byte``, or a file (or a folder with a ``tokenizer.json`` or ``tokenizer.model``).

    Raises:
        InputError: if there is no such file or it is no tokenizer.
        ConfigError: if the file has settings that cannot be honoured.
    """
    if built_in(name) == "byte":
        return ByteTokenizer()
    document = read_tokenizer_file(name)
    return load_tokenizer(document, name=name, memory_bytes=memory_bytes, special_tokens=special_tokens)


def refuse_ambiguous(name: str) -> None:
    """Refuse the name of a built-in tokenizer when a file or folder of that name lies in the working folder.

    Raises:
        ConfigError: with both ways to say it.
    """
    if name not in BUILT_IN or not Path(name).exists():
        return
    what = "the byte tokenizer" if name == "byte" else f"a {name} tokenizer learned from the data"
    raise ConfigError(
        f"--tokenizer {name} could be {what}, or ./{name}, which exists",
        hint=f"use --tokenizer {PREFIX}{name} for the first, --tokenizer ./{name} for the second",
    )


def read_tokenizer_file(name: str) -> bytes:
    """Return the bytes of a tokenizer file."""
    path = Path(split_pattern_name(name)[0])
    if path.is_dir():
        path = next((path / file for file in FOLDER_FILES if (path / file).is_file()), path / FOLDER_FILES[0])
    try:
        return read_regular(path)
    except OSError as error:
        hint = f"give the path of a tokenizer file or a kind of tokenizer; {did_you_mean(name, BUILT_IN)}"
        raise InputError(f"no tokenizer: {error.strerror}", path=str(path), hint=hint) from None


def tokenizer_digest(name: str) -> str:
    """Return what identifies a tokenizer in a plan: its name, or the content of its file."""
    kind = built_in(name)
    if kind is not None:
        return kind
    pattern = split_pattern_name(name)[1]
    digest = document_digest(read_tokenizer_file(name))
    return f"{digest} {pattern}" if pattern else digest


def load_tokenizer(
    document: bytes,
    *,
    name: str,
    memory_bytes: int = 300 << 20,
    special_tokens: SpecialTokens = "text",
) -> Tokenizer:
    """Build a tokenizer from the bytes of its file; ``name`` is for messages, and for tiktoken's patterns."""
    try:
        if document[:SNIFF_BYTES].find(FORMAT_KEY.encode()) >= 0:
            return table_tokenizer(_object(document))
        if looks_like_sentencepiece(document):
            from samebits.tokens.tokenizers.sentencepiece_file import sentencepiece_to_json

            document = sentencepiece_to_json(document)
        elif looks_like_tiktoken(document):
            document = tiktoken_to_json(document, name)
        return file_tokenizer(document, memory_bytes=memory_bytes, special_tokens=special_tokens)
    except ValueError as error:  # those of msgspec are among them
        if isinstance(error, ConfigError):
            raise ConfigError(f"{name}: {error.message}", hint=error.hint) from None
        hint = "give a tokenizer.json, a .model of SentencePiece, a .tiktoken, or what train-tokenizer wrote"
        raise InputError(f"not a tokenizer file: {error}", path=name, hint=hint) from None


def looks_like_sentencepiece(document: bytes) -> bool:
    """Whether a file begins like a model of SentencePiece: with a piece, which begins with its text."""
    return len(document) > 3 and document[0] == FIRST_FIELD and document[2] == FIRST_FIELD


def _object(document: bytes) -> dict[str, Any]:
    import msgspec  # 6 ms; most files are read without it

    return msgspec.json.decode(document, type=dict[str, Any])
