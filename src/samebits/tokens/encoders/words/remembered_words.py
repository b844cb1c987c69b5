"""A slower encoder that sees every word once: ``tokenizers`` for WordPiece, a kernel behind a normalizer for Unigram.

Between certain places of a text its words cannot influence one another: where the pre-tokenizer cuts anyway, and no
normalizer reaches across. Words between such places are looked up in a table; those it does not hold are given to
the slower encoder, alone. Which places are certain depends on the file; ``how_to_cut`` knows the files for which they are.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import msgspec

from samebits.data.readers.rowblock import TextColumn
from samebits.kernels.tokens.memory import BEFORE_MARK, PLAIN, PUNCTUATION, SPACES, WordMemory
from samebits.tokens.encoders.allow_list import kind_of, why_not_tokens, without_special_tokens
from samebits.tokens.encoders.interface import Ids, SpecialTokens
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder
from samebits.tokens.encoders.words.word_pieces import PiecesOfWords, has_plain_words

__all__ = ["RememberingEncoder", "how_to_cut", "make_remembering", "why_not_remembered"]

MAX_BYTES = 64 << 20  # of a thread's table; it is begun anew when it is larger
MARK = "\u2581"


class EncodesStrings(Protocol):
    """What sees every word once."""

    def encode_strings(self, texts: list[str]) -> Ids:
        """Return ids and ``len(texts) + 1`` offsets."""
        ...


class RememberingEncoder:
    """A table of words for each thread, and one slower encoder behind them; ``how`` says where texts are cut."""

    def __init__(self, slow: EncodesStrings, how: int) -> None:
        self.slow, self.how = slow, how
        self._own = threading.local()

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        memory: WordMemory | None = getattr(self._own, "memory", None)
        if memory is None or memory.num_bytes > MAX_BYTES:
            memory = self._own.memory = WordMemory()
        words, offsets, new = memory.find(texts.buffer, texts.starts, texts.stops, self.how)
        try:
            if new:
                memory.learn(*self.slow.encode_strings([word.decode() for word in new]))
            return memory.emit(words, offsets)
        except BaseException:
            del self._own.memory  # entries without ids must not be found again
            raise


def make_remembering(document: bytes, special_tokens: SpecialTokens) -> RememberingEncoder:
    """Return ``tokenizers``, or what spares it plain words, behind a memory of words."""
    parsed = msgspec.json.decode(document)
    plain = has_plain_words(parsed, special_tokens)
    slow = (PiecesOfWords if plain else ReferenceEncoder)(document, special_tokens)
    return RememberingEncoder(slow, how_to_cut(parsed, special_tokens)[0])


def how_to_cut(document: dict[str, Any], special_tokens: SpecialTokens) -> tuple[int, str]:
    """Return the kernel's way of cutting texts for a parsed tokenizer.json, or -1 and why there is none."""
    kind = (document.get("model") or {}).get("type")
    pre_tokenizer: Any = document.get("pre_tokenizer")
    normalizer: Any = document.get("normalizer")
    if kind not in ("WordPiece", "Unigram"):
        return -1, f"the model is {kind}"
    if _type(pre_tokenizer) == "BertPreTokenizer" and _type(normalizer) in ("", "BertNormalizer"):
        return (PUNCTUATION if special_tokens == "text" else SPACES), ""
    scheme = _prepend_scheme(pre_tokenizer)
    if not scheme:
        return -1, f"the pre-tokenizer {kind_of(pre_tokenizer)} is not known to cut at spaces"
    if normalizer is None and scheme == "never":
        return BEFORE_MARK, ""
    if all(_is_local(step) for step in _steps(normalizer)) and scheme == "always":
        return PLAIN, ""
    return -1, f"the normalizer {kind_of(normalizer)} may reach across words"


def why_not_remembered(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why the words of a file cannot be remembered; empty when they can."""
    if special_tokens == "text":
        document = without_special_tokens(document)
    return why_not_tokens(document, plain_tokens=False) or how_to_cut(document, special_tokens)[1]


def _type(step: Any) -> str:
    return str(step.get("type")) if isinstance(step, dict) else ""


def _steps(normalizer: Any) -> list[Any]:
    """Return the steps of a normalizer."""
    if normalizer is None:
        return []
    return list(normalizer["normalizers"]) if _type(normalizer) == "Sequence" else [normalizer]


def _prepend_scheme(step: Any) -> str:
    """Return when a Metaspace that cuts puts its mark before a text; empty for any other pre-tokenizer."""
    inner = step.get("pretokenizers") if _type(step) == "Sequence" else None
    if inner and len(inner) == 2 and _type(inner[0]) == "WhitespaceSplit":  # XLM-R
        return "always" if _prepend_scheme(inner[1]) == "always" else ""
    if _type(step) != "Metaspace" or step.get("replacement") != MARK or step.get("add_prefix_space") is False:
        return ""
    # older files leave both to the default
    return str(step.get("prepend_scheme", "always")) if step.get("split", True) is True else ""


def _is_local(step: Any) -> bool:
    """Whether a normalizer changes characters one by one, or only runs of spaces."""
    if _type(step) in ("Precompiled", "NFKC", "NFC", "Lowercase"):
        return True
    return (
        _type(step) == "Replace"
        and step.get("pattern") == {"Regex": " {2,}"}
        and step.get("content") in (" ", MARK)
    )
