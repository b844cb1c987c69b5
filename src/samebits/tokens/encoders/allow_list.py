"""Which tokenizer.json files a fast encoder may encode: an allow-list, because a probe alone is not enough.

``tokenizers`` defines the ids. The others are up to 100 times faster, but a custom ``Split`` expression made fastokens
differ silently on 14 of 30,008 strings, and NFC made gigatoken differ on 4 of 6,008. A load-time probe catches that only
if it happens to hold such characters. So
``benchmarks/tokens_fuzz.py`` compares each combination that an encoder's file allows as a whole, with 30,000 strings and
20 MB of text, and everything else goes to the next encoder, with the reason printed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = [
    "LLAMA3_SPLIT",
    "NORMALIZERS",
    "O200K_SPLIT",
    "PATTERNS",
    "PIECE_STEPS",
    "PRE_TOKENIZERS",
    "QWEN2_SPLIT",
    "byte_alphabet",
    "byte_level_split",
    "kind_of",
    "same_step",
    "why_not_byte_level",
    "why_not_pieces",
    "why_not_tokens",
    "without_special_tokens",
]

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
# How a text is cut before byte pairs are merged, by the name of the tokenizer that made each known.
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": _WORDS + r"\p{N}{1,3}" + _REST,
    "qwen2": _WORDS + r"\p{N}" + _REST,
    "o200k": (
        f"{_LEAD}{_UPPER}*{_LOWER}+{_ENDING}|{_LEAD}{_UPPER}+{_LOWER}*{_ENDING}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
LLAMA3_SPLIT = "llama3 Split + ByteLevel"
QWEN2_SPLIT = "qwen2 Split + ByteLevel"
O200K_SPLIT = "o200k Split + ByteLevel"


def _bytes_only(*, prefix: bool = False, regex: bool = True) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def _after(first: dict[str, Any], *, regex: bool) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [first, _bytes_only(regex=regex)]}


def byte_level_split(pattern: str) -> dict[str, Any]:
    """Return the pre-tokenizer that cuts by an expression, then takes bytes."""
    rule = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return _after(rule, regex=False)


NORMALIZERS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "NFC": {"type": "NFC"},
    "Lowercase": {"type": "Lowercase"},
}
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "ByteLevel": _bytes_only(),
    "ByteLevel with prefix space": _bytes_only(prefix=True),
    "single Digits + ByteLevel": _after({"type": "Digits", "individual_digits": True}, regex=True),
    "Digits + ByteLevel": _after({"type": "Digits", "individual_digits": False}, regex=True),
    LLAMA3_SPLIT: byte_level_split(PATTERNS["cl100k"]),
    QWEN2_SPLIT: byte_level_split(PATTERNS["qwen2"]),
    O200K_SPLIT: byte_level_split(PATTERNS["o200k"]),
}
_MARK = "\u2581"  # stands for a space in the pieces of SentencePiece
_TO_MARK = {"type": "Replace", "pattern": {"String": " "}, "content": _MARK}


def _metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": _MARK, "prepend_scheme": scheme, "split": False}


# Normalizer and pre-tokenizer of byte pairs with byte fallback, by the family that uses them.
PIECE_STEPS: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {
    "Llama 2": (
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _MARK}, _TO_MARK]},
        None,
    ),
    "Gemma": (
        _TO_MARK,
        {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
    ),
    "Mistral": (None, _metaspace("first")),
    "Metaspace": (None, _metaspace("always")),
    "SentencePiece": (None, None),  # a .model file: its own normalizer has been at work before
}
# Settings of the BPE model that change ids; each must be off.
MODEL_SWITCHES = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)


def byte_alphabet() -> list[str]:
    """The 256 characters that stand for bytes in a byte-level vocabulary: printable ones for themselves.

    >>> alphabet = byte_alphabet()
    >>> alphabet[ord("A")], alphabet[ord(" ")], alphabet[10]
    ('A', 'Ġ', 'Ċ')
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    shown = {byte: chr(byte) for byte in printable}
    shown |= {byte: chr(0x100 + i) for i, byte in enumerate(others)}
    return [shown[byte] for byte in range(256)]


def why_not_byte_level(
    document: dict[str, Any],
    normalizers: Iterable[dict[str, Any] | None],
    pre_tokenizers: Iterable[dict[str, Any]],
    *,
    ignore_merges: bool = False,
    plain_tokens: bool = False,
) -> str:
    """Say why a parsed tokenizer.json is none of these byte-level ones; empty when it is.

    Args:
        document: The file.
        normalizers: Those allowed.
        pre_tokenizers: Those allowed.
        ignore_merges: Whether that switch of the model is allowed.
        plain_tokens: Whether added tokens that are not special are.
    """
    model = document.get("model") or {}
    if model.get("type") != "BPE":
        return f"the model is {model.get('type')}, not BPE"
    for switch in MODEL_SWITCHES:
        if model.get(switch) and not (ignore_merges and switch == "ignore_merges"):
            return f"the model sets {switch}"
    vocabulary = model.get("vocab") or {}
    missing = [char for char in byte_alphabet() if char not in vocabulary]
    if missing:
        return f"the vocabulary lacks {len(missing)} of the 256 bytes"
    if document.get("normalizer") not in list(normalizers):
        return f"the normalizer {kind_of(document['normalizer'])} is not on the allow-list"
    pre_tokenizer = document.get("pre_tokenizer")
    if not any(same_step(pre_tokenizer, known) for known in pre_tokenizers):
        return f"the pre-tokenizer {kind_of(pre_tokenizer)} is not on the allow-list"
    return why_not_tokens(document, plain_tokens=plain_tokens)


def why_not_pieces(document: dict[str, Any], steps: Iterable[tuple[Any, Any]]) -> str:
    """Say why a parsed tokenizer.json is not one of SentencePiece's byte pairs with these steps; empty when it is."""
    model = document.get("model") or {}
    if model.get("type") != "BPE" or not model.get("byte_fallback"):
        return f"the model is {model.get('type')} without byte fallback"
    for switch in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(switch):
            return f"the model sets {switch}"
    vocabulary = model.get("vocab") or {}
    missing = [byte for byte in range(256) if f"<0x{byte:02X}>" not in vocabulary]
    if missing:
        return f"the vocabulary lacks {len(missing)} of the 256 bytes"
    found = document.get("normalizer"), document.get("pre_tokenizer")
    if found not in list(steps):
        return f"{kind_of(found[0])} before {kind_of(found[1])} is not on the allow-list"
    return why_not_tokens(document, plain_tokens=False)


def why_not_tokens(document: dict[str, Any], *, plain_tokens: bool) -> str:
    """Say which added token has a rule of its own; empty when none has."""
    rules = ["lstrip", "rstrip", "single_word"]
    rules += ["normalized"] * (document.get("normalizer") is not None)
    for token in document.get("added_tokens") or []:
        found = [name for name in rules if token.get(name)]
        if found or not (token.get("special") or plain_tokens):
            return f"the added token {token.get('content')!r} is not a plain special token"
    return ""


def without_special_tokens(document: dict[str, Any]) -> dict[str, Any]:
    """Return a parsed file as it is for texts in which special tokens stay text: their rules do not count."""
    added = document.get("added_tokens") or []
    return {**document, "added_tokens": [token for token in added if not token.get("special")]}


def same_step(one: Any, other: Any) -> bool:
    """Whether two pre-tokenizers cut alike."""
    return bool(_essence(one) == _essence(other))


def _essence(step: Any) -> Any:
    """Leave out ``trim_offsets``, which never changes ids, and spell out what older files leave to the default."""
    if not isinstance(step, dict):
        return step
    kept = {key: value for key, value in step.items() if key != "trim_offsets"}
    if kept.get("type") == "ByteLevel":
        kept.setdefault("use_regex", True)
    if isinstance(kept.get("pretokenizers"), list):
        kept["pretokenizers"] = [_essence(inner) for inner in kept["pretokenizers"]]
    return kept


def kind_of(step: Any) -> str:
    """Name a step of a tokenizer.json for people."""
    if not isinstance(step, dict):
        return repr(step)
    inner = step.get("pretokenizers") or step.get("normalizers") or []
    names = [str(step.get("type")), *(str(item.get("type")) for item in inner if isinstance(item, dict))]
    return " + ".join(names)
