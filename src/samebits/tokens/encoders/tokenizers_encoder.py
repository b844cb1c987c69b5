"""``tokenizers``: it defines the ids of a ``tokenizer.json``. They come out as Python lists, the slow part of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import MissingExtra
from samebits.kernels.tokens.chars import rows_to_strings
from samebits.tokens.encoders.interface import Ids, SpecialTokens

__all__ = ["ReferenceEncoder", "import_tokenizers"]


class ReferenceEncoder:
    """Encodes whatever the file says, without the post-processor's additions."""

    def __init__(self, document: bytes, special_tokens: SpecialTokens = "text") -> None:
        self.library = import_tokenizers().Tokenizer.from_buffer(document)
        self.library.encode_special_tokens = special_tokens == "text"

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Encode the rows of a column."""
        return self.encode_strings(rows_to_strings(texts.buffer, texts.starts, texts.stops))

    def encode_strings(self, texts: list[str]) -> Ids:
        """Encode strings."""
        rows = [row.ids for row in self.library.encode_batch_fast(texts, add_special_tokens=False)]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        ids = np.fromiter((i for row in rows for i in row), np.uint32, int(offsets[-1]))
        return ids, offsets


def import_tokenizers() -> Any:
    """Return the library, or say how to install it."""
    try:
        import tokenizers
    except ImportError:
        raise MissingExtra("tokenizers", extra="tokens", needed_for="tokenizer files") from None
    return tokenizers
