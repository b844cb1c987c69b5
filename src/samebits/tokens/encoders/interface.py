"""What an encoder is: a library that turns texts into ids, made for one tokenizer file in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.data.readers.rowblock import TextColumn

__all__ = ["Encoder", "Ids", "RowEncoder", "Rows", "SpecialTokens", "column_of"]

Ids = tuple[
    NDArray[np.uint32], NDArray[np.int64]
]  # ids of all texts, and where each text's ids begin and end
Rows = tuple[NDArray[np.uint16], NDArray[np.int64]]  # ids of all rows, and how many each has
SpecialTokens = Literal["text", "ids"]  # what "<|endoftext|>" inside a text becomes


class Encoder(Protocol):
    """A live library object; made per process, shared by its threads, never pickled."""

    def encode_texts(self, texts: TextColumn) -> Ids:
        """Return ids and ``len(texts) + 1`` offsets."""
        ...


class RowEncoder(Encoder, Protocol):
    """An encoder that can also write rows as they are stored."""

    def encode_rows(self, texts: TextColumn, before: Sequence[int], after: Sequence[int]) -> Rows:
        """Return the ids of each text between the same other ids; all of them must fit 16 bits."""
        ...


def column_of(texts: list[str]) -> TextColumn:
    """Return strings as a column.

    >>> column_of(["one", "", "é"]).stops.tolist()
    [3, 3, 5]
    """
    data = [text.encode() for text in texts]
    stops = np.cumsum([len(text) for text in data], dtype=np.int64)
    starts = stops - np.array([len(text) for text in data], np.int64)
    return TextColumn(np.frombuffer(b"".join(data), np.uint8), starts, stops)
