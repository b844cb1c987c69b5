"""A ``tokenizer.json`` without making Python objects of its vocabulary and merges, which are nearly all of it.

``tokenizers`` writes both into the model, one after the other. Their texts begin after their names (a quote within a string of JSON has a
backslash before it, so a name in quotes is a name) and end where their brackets close. What is left is small, and is read as
if they were empty. A file that looks otherwise is left to msgspec, which takes 6 ms to import and can say what is wrong with it.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from samebits.core.light_dataclass import dataclass
from samebits.kernels.tokens.byte_pairs.token_table import TokenTable, end_of_value

__all__ = ["SIGN", "AddedToken", "TokenizerJson", "added_tokens", "num_ids", "read_tokenizer_json"]

SIGN = r"(?#sentencepiece)(?!)"  # matches nothing: a step with it says that a file was made of a .model
_VOCAB = re.compile(rb'"vocab"\s*:\s*(?=\{)')
_MERGES = re.compile(rb'\s*,\s*"merges"\s*:\s*(?=\[)')
_VOCAB_MARK, _MERGES_MARK = "the vocabulary was here", "the merges were here"


@dataclass(frozen=True)
class TokenizerJson:
    """A file in parts.

    Attributes:
        rest: The file without vocabulary and merges.
        vocab: The text of the vocabulary.
        merges: The text of the merges.
    """

    rest: dict[str, Any]
    vocab: memoryview
    merges: memoryview

    @cached_property
    def table(self) -> TokenTable:
        """The vocabulary as a table of ids."""
        return TokenTable(self.vocab)

    @property
    def model(self) -> dict[str, Any]:
        """The settings of the model."""
        model: dict[str, Any] = self.rest["model"]
        return model


_LAST: list[tuple[bytes, TokenizerJson]] = []  # a command asks for the same file three times


class AddedToken(NamedTuple):
    """A token that is not part of the model."""

    content: str
    id: int
    special: bool


def read_tokenizer_json(document: bytes) -> TokenizerJson:
    """Take a file apart.

    Raises:
        ValueError: if it is no such file.
    """
    for known, found in _LAST:
        if known == document:
            return found
    found = _cut(document) or _read(document)
    _LAST[:] = [(document, found)]
    return found


def _cut(document: bytes) -> TokenizerJson | None:
    """Cut out both texts; None if the file does not look as expected."""
    vocab = _VOCAB.search(document)
    vocab_end = end_of_value(document, vocab.end()) if vocab else -1
    merges = _MERGES.match(document, vocab_end) if vocab_end > 0 else None
    end = end_of_value(document, merges.end()) if merges else -1
    if vocab is None or merges is None or end < 0:
        return None
    marks = (json.dumps(mark).encode() for mark in (_VOCAB_MARK, _MERGES_MARK))
    left = (document[: vocab.end()], next(marks), merges[0], next(marks), document[end:])
    try:
        rest = json.loads(b"".join(left), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    model = rest.get("model") if isinstance(rest, dict) else None
    if not isinstance(model, dict) or (model.pop("vocab", ""), model.pop("merges", "")) != (
        _VOCAB_MARK,
        _MERGES_MARK,
    ):
        return None
    whole = memoryview(document)
    return TokenizerJson(rest, whole[vocab.end() : vocab_end], whole[merges.end() : end])


def _read(document: bytes) -> TokenizerJson:
    import msgspec

    parts = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    if "model" not in parts:
        raise ValueError("it has no model")
    model = msgspec.json.decode(parts.pop("model"), type=dict[str, msgspec.Raw])
    vocab, merges = model.pop("vocab", msgspec.Raw(b"{}")), model.pop("merges", msgspec.Raw(b"[]"))
    rest: dict[str, Any] = {name: msgspec.json.decode(part) for name, part in parts.items()}
    rest["model"] = {name: msgspec.json.decode(part) for name, part in model.items()}
    return TokenizerJson(rest, memoryview(vocab), memoryview(merges))


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def added_tokens(file: TokenizerJson) -> list[AddedToken]:
    """Return the tokens that are not part of the model.

    Raises:
        ValueError: if they are not given as they should be.
    """
    found = []
    for token in file.rest.get("added_tokens") or []:
        parts = (token.get(name, False) for name in AddedToken._fields) if isinstance(token, dict) else ()
        made = AddedToken._make(parts) if parts else AddedToken("", -1, special=False)
        if (type(made.content), type(made.id), type(made.special)) != (str, int, bool) or made.id < 0:
            raise ValueError(f"{str(token)[:80]} is no added token")
        found.append(made)
    return found


def num_ids(file: TokenizerJson) -> int:
    """Return one more than the largest id: of the added tokens, and of a vocabulary, which is an object of ids or a list of pieces.

    Raises:
        ValueError: if it is neither.
    """
    added = max((token.id for token in added_tokens(file)), default=-1) + 1
    if file.model.get("type") == "Unigram":
        return max(added, len(json.loads(bytes(file.vocab))))
    return max(added, file.table.num_ids)
