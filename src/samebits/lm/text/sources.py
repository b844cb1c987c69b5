"""Where tokens come from: plain text, a store of the ``tokens`` job, or the .bin files of nanoGPT.

A ``TokenSource`` is small and picklable: it says where the tokens are, and every worker opens them by itself. Stores and
.bin files are memory-mapped; text is read and encoded in each worker, which is right for megabytes. For gigabytes build a
store first. What only stores or tables need is imported where it is used: every worker starts with this module.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from samebits.core.digest import digest_of, digest_of_file
from samebits.core.regular_file import open_regular
from samebits.errors import InputError
from samebits.lm.text.plain_text import open_text, read_text, text_digest
from samebits.lm.text.token_text import open_token_text
from samebits.lm.text.vocab import Vocabulary, learn_chars

if TYPE_CHECKING:
    from samebits.data.token_store import TokenStore

__all__ = ["TokenSource", "Tokens", "open_source"]

BIN_DTYPE = np.dtype("<u2")  # what nanoGPT writes
SCAN = 1 << 24  # ids looked at in one go
PIECE = (
    1 << 18
)  # characters encoded in one go: what they need in passing stays with a worker's process for good


@dataclass(frozen=True, slots=True)
class Tokens:
    """The two parts of the data, as ids."""

    train: NDArray[Any]
    val: NDArray[Any]


@dataclass(frozen=True)
class TokenSource:
    """Tokens of a run.

    Attributes:
        kind: What the input is.
        place: Where: a corpus for text, a folder for a store, the two files for .bin.
        vocabulary: What the ids stand for.
        val_ratio: Share at the end kept for validation where the input has no part of its own for it.
        digest: What identifies the data.
        names: Of the inputs, for messages.
        bytes_per_token: Mean length of a token in the text; 0 where nobody knows.
        tokenizer: Content of the tokenizer file of a store.
        notes: Sentences for the user.
        column: Which column of tables holds the text.
    """

    kind: Literal["text", "store", "bin"]
    place: Any
    vocabulary: Vocabulary
    val_ratio: float
    digest: str
    names: tuple[str, ...]
    bytes_per_token: float = 0.0
    tokenizer: bytes = b""
    notes: tuple[str, ...] = ()
    column: str = "text"

    def load(self) -> Tokens:
        """Open the tokens."""
        if self.kind == "text":
            text = read_text(self.place, self.vocabulary.kind, self.column)
            pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
            ids = [_smallest(self.vocabulary.encode(piece), self.vocabulary.size) for piece in pieces]
            return _cut(np.concatenate(ids), self.val_ratio)
        if self.kind == "bin":
            train, val = (_map_bin(path) if path else None for path in self.place)
            assert train is not None
            return _cut(train, self.val_ratio) if val is None else Tokens(train, val)
        return _load_store(self.place, self.val_ratio)


def _smallest(ids: NDArray[np.int64], size: int) -> NDArray[Any]:
    return ids.astype(np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32)


def _cut(ids: NDArray[Any], val_ratio: float) -> Tokens:
    at = int(len(ids) * (1 - val_ratio))
    return Tokens(ids[:at], ids[at:])


def open_source(
    inputs: Sequence[str],
    *,
    level: str = "char",
    val_ratio: float = 0.1,
    vocab_size: int = 0,
    text_column: str = "text",
) -> TokenSource:
    """Find out what the inputs are and open them.

    Raises:
        InputError: for inputs that cannot be used; names file and place.
    """
    first = Path(inputs[0]) if len(inputs) == 1 else Path()
    if len(inputs) == 1 and (first / "manifest.json").is_file():
        return _open_store(first, val_ratio)
    if len(inputs) == 1 and (first / "train.bin").is_file():
        val = first / "val.bin"
        return _open_bin((first / "train.bin", val if val.is_file() else None), val_ratio, vocab_size)
    if inputs and all(Path(name).suffix == ".bin" for name in inputs) and len(inputs) <= 2:
        return _open_bin(
            (Path(inputs[0]), Path(inputs[1]) if len(inputs) == 2 else None), val_ratio, vocab_size
        )
    return _open_text(inputs, level, val_ratio, text_column)


def _open_text(inputs: Sequence[str], level: str, val_ratio: float, column: str) -> TokenSource:
    corpus = open_text(inputs)
    text = read_text(corpus, level, column)
    vocabulary = Vocabulary("byte", 256) if level == "byte" else learn_chars(text)
    num_bytes = len(text.encode("utf-8", "surrogateescape"))
    num_tokens = num_bytes if level == "byte" else len(text)
    if vocabulary.size < 2 or num_tokens < 2:
        raise InputError(
            f"too short to train on: {num_tokens} tokens, {vocabulary.size} distinct",
            path=", ".join(corpus.names),
            hint="give a longer text",
        )
    notes = tuple(note for note in corpus.notes if "cannot be cut" not in note)
    return TokenSource(
        "text",
        corpus,
        vocabulary,
        val_ratio,
        text_digest(corpus, column),
        corpus.names,
        num_bytes / num_tokens,
        notes=notes,
        column=column,
    )


def _map_bin(path: Path) -> NDArray[Any]:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    if size % BIN_DTYPE.itemsize:
        raise InputError(
            f"{size} bytes is not a whole number of 16-bit ids",
            path=str(path),
            offset=size - 1,
            hint="the file was cut off, or holds ids of a different width",
        )
    return np.memmap(path, BIN_DTYPE, "r") if size else np.empty(0, BIN_DTYPE)


def _open_bin(paths: tuple[Path, Path | None], val_ratio: float, vocab_size: int) -> TokenSource:
    present = [path for path in paths if path is not None]
    largest = -1
    for path in present:
        ids = _map_bin(path)
        for start in range(0, len(ids), SCAN):
            part = ids[start : start + SCAN]
            largest = max(largest, int(part.max()))
            if vocab_size and largest >= vocab_size:
                at = start + int(np.flatnonzero(part >= vocab_size)[0])
                raise InputError(
                    f"token id {int(ids[at])} is outside the vocabulary of {vocab_size}",
                    path=str(path),
                    offset=at * BIN_DTYPE.itemsize,
                    hint="give the right --vocab-size, or 0 to take it from the data",
                )
    digest = digest_of([digest_of_file(path) for path in present])
    vocabulary = Vocabulary("ids", vocab_size or largest + 1)
    return TokenSource("bin", paths, vocabulary, val_ratio, digest, tuple(path.name for path in present))


def _open_store(folder: Path, val_ratio: float) -> TokenSource:
    from samebits.data.artifact import open_artifact

    artifact = open_artifact(folder, job="tokens", check="sizes")
    about = artifact.json("store.json")
    tokens = sum(split["tokens"] for split in about["splits"].values())
    tokenizer = artifact.path("tokenizer.json").read_bytes() if "tokenizer.json" in artifact.files else b""
    vocabulary = Vocabulary("ids", int(about["vocab_size"]), text=open_token_text(tokenizer))
    source = TokenSource(
        "store",
        str(folder),
        vocabulary,
        val_ratio,
        hashlib.sha256(f"{artifact.digest}".encode()).hexdigest(),
        (folder.name,),
        about["text_bytes"] / tokens if tokens else 0.0,
        tokenizer,
    )
    for ids in (source.load().train, source.load().val):
        _check_ids(ids, vocabulary.size, folder)
    return source


def _check_ids(ids: NDArray[Any], size: int, folder: Path) -> None:
    for start in range(0, len(ids), SCAN):
        part = ids[start : start + SCAN]
        if len(part) and int(part.max()) >= size:
            at = start + int(np.flatnonzero(part >= size)[0])
            raise InputError(
                f"token {at} is {int(ids[at])}, outside the vocabulary of {size}", path=str(folder)
            )


def _load_store(folder: str, val_ratio: float) -> Tokens:
    from samebits.data.artifact import open_artifact
    from samebits.data.token_store import TokenStore

    train = _stream(TokenStore.open(folder, "train"))
    if "val" not in open_artifact(folder, job="tokens", check="sizes").json("store.json")["splits"]:
        return _cut(train, val_ratio)
    return Tokens(train, _stream(TokenStore.open(folder, "val")))


def _stream(store: TokenStore) -> NDArray[Any]:
    """Return all tokens in one row: a packed store as it is, rows without their padding."""
    if store.layout == "packed":
        return store.tokens
    rows = [store[row] for row in range(len(store))]
    return np.concatenate(rows) if rows else store.tokens.reshape(-1)[:0]
