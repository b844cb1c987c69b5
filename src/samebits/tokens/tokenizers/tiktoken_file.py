"""``.tiktoken`` files as a ``tokenizer.json``.

Such a file lists byte strings with their ranks, and nothing else: how a text is cut and which special tokens there are
lies in the program that uses it. Both are known for the files that OpenAI publishes, by their names; for any other the
user adds the pattern's name, as in ``my.tiktoken@cl100k``.

A rank is a token's id and the priority of the merge that makes it. The merge itself is not in the file: it is found by
encoding the token with the ranks below its own, until two parts are left.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import PurePath
from typing import Any, NamedTuple

from samebits.errors import ConfigError, did_you_mean
from samebits.tokens.encoders.allow_list import PATTERNS, byte_alphabet, byte_level_split

__all__ = ["looks_like_tiktoken", "split_pattern_name", "tiktoken_to_json"]

END = "<|endoftext|>"
PATTERN_SIGN = "@"


class Encoding(NamedTuple):
    """What a file does not say: the pattern's name, and special tokens by id."""

    pattern: str
    special: dict[str, int]


_FIM = {"<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260}
PUBLISHED = {
    "r50k_base": Encoding("gpt2", {END: 50256}),
    "p50k_base": Encoding("gpt2", {END: 50256}),
    "cl100k_base": Encoding("cl100k", {END: 100257, **_FIM, "<|endofprompt|>": 100276}),
    "o200k_base": Encoding("o200k", {END: 199999, "<|endofprompt|>": 200018}),
}


def looks_like_tiktoken(document: bytes) -> bool:
    """Whether the first line of a file is a text in base 64 and a number."""
    parts = document[:2000].partition(b"\n")[0].split()
    return len(parts) == 2 and parts[1].isdigit() and _decoded(parts[0]) is not None


def split_pattern_name(name: str) -> tuple[str, str]:
    """Part a file's name from the pattern's.

    >>> split_pattern_name("my.tiktoken@cl100k"), split_pattern_name("cl100k_base.tiktoken")
    (('my.tiktoken', 'cl100k'), ('cl100k_base.tiktoken', ''))
    """
    path, sign, pattern = name.rpartition(PATTERN_SIGN)
    return (path, pattern) if sign and pattern in PATTERNS else (name, "")


def tiktoken_to_json(document: bytes, name: str) -> bytes:
    """Return the ``tokenizer.json`` that gives the ids of a tiktoken file.

    Raises:
        ConfigError: if the file is damaged, or nobody said how it cuts texts.
    """
    path, pattern = split_pattern_name(name)
    known = PUBLISHED.get(PurePath(path).name.removesuffix(".tiktoken"))
    ranks = _ranks(document)
    if pattern or known is None:
        known = Encoding(pattern, {END: max(ranks.values()) + 1})
    if not known.pattern:
        hint = f"add how it cuts texts, e.g. {name}{PATTERN_SIGN}cl100k; known: {', '.join(PATTERNS)}"
        raise ConfigError("a tiktoken file does not say how texts are cut", hint=hint)
    alphabet = byte_alphabet()
    shown = {token: "".join(alphabet[byte] for byte in token) for token in ranks}
    model = {
        "type": "BPE",
        "ignore_merges": True,  # a piece that is a token is that token, whatever its merges say
        "vocab": {shown[token]: rank for token, rank in ranks.items()},
        "merges": [[shown[left], shown[right]] for left, right in _merges(ranks)],
    }
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    steps: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": token, **flags} for token, i in known.special.items()],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(known.pattern),
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": model,
    }
    import msgspec  # 6 ms, and few files are of this kind

    return msgspec.json.encode(steps)


def _pre_tokenizer(pattern: str) -> dict[str, Any]:
    if pattern not in PATTERNS:
        raise ConfigError(f"no pattern {pattern!r}", hint=did_you_mean(pattern, PATTERNS))
    if pattern == "gpt2":  # the expression that ByteLevel has built in
        return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return byte_level_split(PATTERNS[pattern])


def _ranks(document: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(document.splitlines(), 1):
        if not line.strip():
            continue
        parts = line.split()
        token = _decoded(parts[0]) if len(parts) == 2 and parts[1].isdigit() else None
        if not token:
            raise ConfigError(f"line {number} is not a token with its rank")
        ranks[token] = int(parts[1])
    missing = [byte for byte in range(256) if bytes((byte,)) not in ranks]
    if missing:
        raise ConfigError(f"{len(missing)} of the 256 bytes have no rank")
    return ranks


def _decoded(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _merges(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return the merge that makes each token, by rank; a token that no merge can make has none."""
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = _parts(token, rank, ranks) if len(token) > 1 else []
        if len(parts) == 2:
            merges.append((parts[0], parts[1]))
    return merges


def _parts(token: bytes, below: int, ranks: dict[bytes, int]) -> list[bytes]:
    """Merge the bytes of a token, lowest rank first, with the ranks below its own."""
    parts = [bytes((byte,)) for byte in token]
    while len(parts) > 2:
        pairs = [(ranks.get(parts[i] + parts[i + 1], below), i) for i in range(len(parts) - 1)]
        rank, at = min(pairs)
        if rank >= below:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts
