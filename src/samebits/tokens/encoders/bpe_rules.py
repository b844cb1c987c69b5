"""Which tokenizer.json files fastokens may encode: an allow-list, because a probe alone is not enough.

``tokenizers`` defines the ids. fastokens is some 50 times faster, but a custom ``Split`` expression made it differ
silently on 14 of 30,008 strings: a load-time probe catches that only if it happens to hold such characters. So
each combination of the lists below was fuzzed as a whole with more than 30,000 strings (``benchmarks/tokens_fuzz.py``
does it again), and everything else goes to ``tokenizers``, with the reason printed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["LLAMA3", "NORMALIZERS", "PRE_TOKENIZERS", "QWEN2", "byte_alphabet", "why_slow"]

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = _WORDS + r"\p{N}{1,3}" + _REST
QWEN2 = _WORDS + r"\p{N}" + _REST


def _bytes_only(*, prefix: bool = False, regex: bool = True) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def _after(first: dict[str, Any], *, regex: bool) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [first, _bytes_only(regex=regex)]}


def _split(pattern: str) -> dict[str, Any]:
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
    "llama3 Split + ByteLevel": _split(LLAMA3),
    "qwen2 Split + ByteLevel": _split(QWEN2),
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


def why_slow(document: dict[str, Any]) -> str:
    """Say why a parsed tokenizer.json is not on the allow-list; empty when it is."""
    model = document.get("model") or {}
    if model.get("type") != "BPE":
        return f"the model is {model.get('type')}, not BPE"
    for switch in MODEL_SWITCHES:
        if model.get(switch):
            return f"the model sets {switch}"
    vocabulary = model.get("vocab") or {}
    missing = [char for char in byte_alphabet() if char not in vocabulary]
    if missing:
        return f"the vocabulary lacks {len(missing)} of the 256 bytes"
    return _why_slow_text(document)


def _why_slow_text(document: dict[str, Any]) -> str:
    if document.get("normalizer") not in NORMALIZERS.values():
        return f"the normalizer {_kind(document['normalizer'])} is not on the allow-list"
    pre_tokenizer = _without_offsets(document.get("pre_tokenizer"))
    if pre_tokenizer not in [_without_offsets(known) for known in PRE_TOKENIZERS.values()]:
        return f"the pre-tokenizer {_kind(pre_tokenizer)} is not on the allow-list"
    for token in document.get("added_tokens") or []:
        flags = [name for name in ("lstrip", "rstrip", "single_word", "normalized") if token.get(name)]
        if flags or not token.get("special"):
            return f"the added token {token.get('content')!r} is not a plain special token"
    return ""


def _without_offsets(step: Any) -> Any:
    """Leave out ``trim_offsets``: it moves character positions, never ids."""
    if not isinstance(step, dict):
        return step
    kept = {key: value for key, value in step.items() if key != "trim_offsets"}
    if isinstance(kept.get("pretokenizers"), list):
        kept["pretokenizers"] = [_without_offsets(inner) for inner in kept["pretokenizers"]]
    return kept


def _kind(step: Any) -> str:
    if not isinstance(step, dict):
        return repr(step)
    inner = step.get("pretokenizers") or step.get("normalizers") or []
    names = [str(step.get("type")), *(str(item.get("type")) for item in inner if isinstance(item, dict))]
    return " + ".join(names)
