"""``tokenizers`` that sees every word once: for Unigram and WordPiece, which no fast library encodes.

Between certain places of a text its words cannot influence one another: where the pre-tokenizer cuts anyway, and no
normalizer reaches across. Words between such places are looked up in a table; those it does not hold are given to
``tokenizers``, alone. Which places are certain depends on the file; ``how_to_cut`` knows the files for which they are.
"""

from __future__ import annotations

import threading
from typing import Any

from samebits.data.readers.rowblock import TextColumn
from samebits.kernels.tokens.memory import BEFORE_MARK, PLAIN, PUNCTUATION, SPACES, WordMemory
from samebits.tokens.encoders.allow_list import kind_of, why_not_tokens
from samebits.tokens.encoders.interface import Ids, SpecialTokens
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder

__all__ = ["RememberingEncoder", "how_to_cut", "why_not"]

MAX_BYTES = 64 << 20  # of a thread's table; it is begun anew when it is larger
MARK = "\u2581"


class RememberingEncoder:
    """A table of words for each thread, and one ``tokenizers`` behind them."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        import msgspec

        self.reference = ReferenceEncoder(document, special_tokens)
        self.how = how_to_cut(msgspec.json.decode(document), special_tokens)[0]
        self._own = threading.local()

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        memory: WordMemory | None = getattr(self._own, "memory", None)
        if memory is None or memory.num_bytes > MAX_BYTES:
            memory = self._own.memory = WordMemory()
        words, offsets, new = memory.find(texts.buffer, texts.starts, texts.stops, self.how)
        try:
            if new:
                memory.learn(*self.reference.encode_strings([word.decode() for word in new]))
            return memory.emit(words, offsets)
        except BaseException:
            del self._own.memory  # entries without ids must not be found again
            raise


def how_to_cut(document: dict[str, Any], special_tokens: SpecialTokens) -> tuple[int, str]:
    """Return the kernel's way of cutting texts for a parsed tokenizer.json, or -1 and why there is none."""
    kind = (document.get("model") or {}).get("type")
    pre_tokenizer: Any = document.get("pre_tokenizer")
    normalizer: Any = document.get("normalizer")
    if kind not in ("WordPiece", "Unigram"):
        return -1, f"the model is {kind}"
    if _type(pre_tokenizer) == "BertPreTokenizer" and _type(normalizer) in ("", "BertNormalizer"):
        return (PUNCTUATION if special_tokens == "text" else SPACES), ""
    if not _cuts_at_marks(pre_tokenizer):
        return -1, f"the pre-tokenizer {kind_of(pre_tokenizer)} is not known to cut at spaces"
    if normalizer is None and pre_tokenizer.get("prepend_scheme") == "never":
        return BEFORE_MARK, ""
    if (
        all(_is_local(step) for step in _steps(normalizer))
        and pre_tokenizer.get("prepend_scheme") == "always"
    ):
        return PLAIN, ""
    return -1, f"the normalizer {kind_of(normalizer)} may reach across words"


def why_not(document: dict[str, Any], special_tokens: SpecialTokens) -> str:
    """Say why the words of a file cannot be remembered; empty when they can."""
    return why_not_tokens(document, plain_tokens=False) or how_to_cut(document, special_tokens)[1]


def _type(step: Any) -> str:
    return str(step.get("type")) if isinstance(step, dict) else ""


def _steps(normalizer: Any) -> list[Any]:
    """Return the steps of a normalizer."""
    if normalizer is None:
        return []
    return list(normalizer["normalizers"]) if _type(normalizer) == "Sequence" else [normalizer]


def _cuts_at_marks(step: Any) -> bool:
    """Whether a pre-tokenizer is a Metaspace that cuts."""
    return _type(step) == "Metaspace" and step.get("replacement") == MARK and step.get("split") is True


def _is_local(step: Any) -> bool:
    """Whether a normalizer changes characters one by one, or only runs of spaces."""
    if _type(step) in ("Precompiled", "NFKC", "NFC", "Lowercase"):
        return True
    return (
        _type(step) == "Replace"
        and step.get("pattern") == {"Regex": " {2,}"}
        and step.get("content") in (" ", MARK)
    )
