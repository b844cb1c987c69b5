"""The encoders, fastest first, and the choice among them.

An encoder is used for a tokenizer file only when the file is on its allow-list and a probe at load time gives the ids of
``tokenizers``, which defines them. So the choice never changes a result: it is named in the record, never in the digest.
A new encoder is one file with ``why_not`` and a class, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from samebits.errors import MissingExtra
from samebits.tokens.encoders.interface import Encoder, SpecialTokens, column_of
from samebits.tokens.encoders.probe import probe_texts
from samebits.tokens.encoders.probe_memory import probe_key, remember, was_equal
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder

__all__ = ["ENCODERS", "REFERENCE", "EncoderChoice", "choose_encoder", "make_encoder"]

REFERENCE = "tokenizers"


class EncoderEntry(NamedTuple):
    """One encoder.

    Attributes:
        package: The distribution whose version a probe depends on.
        why_not: Takes the parsed file; says why it is not on the list, or nothing.
        make: Makes the encoder.
        defines: Whether it is what defines the ids of the files it takes, so that there is nothing to probe.
        writes_rows: Whether it is a ``RowEncoder``.
    """

    package: str
    why_not: Callable[[dict[str, Any], SpecialTokens], str]
    make: Callable[[bytes, SpecialTokens], Encoder]
    defines: bool = False
    writes_rows: bool = False


def _late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports what it calls: a run uses one encoder, and all of them take 5 ms to import."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"{__package__}.{module}"), name)(*arguments)

    return call


def _entry(
    package: str, module: str, make: str, *, why_not: str = "why_not", defines: bool = False
) -> EncoderEntry:
    return EncoderEntry(package, _late(module, why_not), _late(module, make), defines)


ENCODERS: dict[str, EncoderEntry] = {
    "byte pairs": _entry("samebits", "byte_pairs_encoder", "make_byte_pairs")._replace(writes_rows=True),
    "gigatoken": _entry("gigatoken", "gigatoken_encoder", "GigaEncoder"),
    "fastokens": _entry("fastokens", "fastokens_encoder", "FastEncoder"),
    "unigram": _entry("samebits", "unigram_encoder", "make_unigram"),
    "remembered words": _entry(
        "samebits", "words.remembered_words", "make_remembering", why_not="why_not_remembered"
    ),
    "viterbi": _entry("samebits", "viterbi_encoder", "ViterbiEncoder", defines=True),
    REFERENCE: EncoderEntry(REFERENCE, lambda document, special_tokens: "", ReferenceEncoder, defines=True),
}


class EncoderChoice(NamedTuple):
    """The encoder for a file, the sentence that explains it, and the live object if a probe made one."""

    name: str
    note: str
    live: Encoder | None = None


def make_encoder(name: str, document: bytes, special_tokens: SpecialTokens) -> Encoder:
    """Make an encoder by name."""
    return ENCODERS[name].make(document, special_tokens)


def choose_encoder(document: bytes, special_tokens: SpecialTokens = "text") -> EncoderChoice:
    """Return the fastest encoder that gives the ids of ``tokenizers`` for a tokenizer.json."""
    parsed: dict[str, Any] | None = None
    reasons: list[str] = []
    for name, entry in ENCODERS.items():
        try:
            key = probe_key(document, entry.package, special_tokens, name)
            if was_equal(key):
                return EncoderChoice(name, f"{name}: on the allow-list; probed equal to tokenizers before")
            parsed = parsed or _parsed(document)
            reason = entry.why_not(parsed, special_tokens)
            if not reason and entry.defines:
                return EncoderChoice(name, _why_this(name, reasons))
            if not reason:
                choice = _probed(name, document, special_tokens)
                if choice.live is not None:
                    remember(key)
                    return choice
                reason = choice.note
        except (ImportError, MissingExtra, RuntimeError, ValueError) as error:
            reason = f"cannot be used ({error})"
        reasons.append(f"{name}: {reason}")
    raise RuntimeError("the last encoder takes every file")


def _parsed(document: bytes) -> dict[str, Any]:
    """Read a whole file; a file that was probed before needs none of it."""
    import msgspec

    return msgspec.json.decode(document, type=dict[str, Any])


def _why_this(name: str, reasons: list[str]) -> str:
    """Say why an encoder that defines ids does the work."""
    return (
        f"{name}: not " + "; not ".join(reasons) if name == REFERENCE else f"{name}: as sentencepiece does it"
    )


def _probed(name: str, document: bytes, special_tokens: SpecialTokens) -> EncoderChoice:
    """Compare an encoder with the reference; without a live object when they differ."""
    texts = column_of(probe_texts(tokens=_special_texts(document)))
    encoder = make_encoder(name, document, special_tokens)
    ours = encoder.encode_texts(texts)
    theirs = ReferenceEncoder(document, special_tokens).encode_texts(texts)
    if not (np.array_equal(ours[0], theirs[0]) and np.array_equal(ours[1], theirs[1])):
        return EncoderChoice(name, f"gave other ids on {len(texts)} probe texts")
    return EncoderChoice(
        name, f"{name}: on the allow-list; equal to tokenizers on {len(texts)} probe texts", encoder
    )


def _special_texts(document: bytes) -> tuple[str, ...]:
    """Texts that hold the special tokens of a file."""
    added = _parsed(document).get("added_tokens") or []
    names = [token["content"] for token in added if token.get("special")]
    return tuple(text for name in names for text in (f"a {name}b", f"{name}  c {name} {name}", f"d{name}\n"))
