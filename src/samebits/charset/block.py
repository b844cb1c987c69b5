"""Texts as one UTF-8 buffer with offsets: the form the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.charset.bytepairs import count_alphabet

__all__ = ["TextBlock", "alphabet_of", "block_of", "texts_of"]


class TextBlock(NamedTuple):
    """Text i is ``buffer[starts[i]:stops[i]]``, valid UTF-8."""

    buffer: bytes | memoryview
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def subset(self, chosen: NDArray[np.bool_]) -> TextBlock:
        """The chosen texts, over the same buffer."""
        return TextBlock(self.buffer, self.starts[chosen], self.stops[chosen])


def block_of(texts: Sequence[str]) -> TextBlock:
    """Put texts into a block; lone surrogates, which UTF-8 cannot hold, are dropped.

    >>> texts_of(block_of(["abc", "", "dé"]))
    ['abc', '', 'dé']
    """
    encoded = [text.encode("utf-8", "ignore") for text in texts]
    stops = np.cumsum([len(data) for data in encoded], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops])[: len(encoded)]
    return TextBlock(b"".join(encoded), starts, stops)


def texts_of(block: TextBlock) -> list[str]:
    """The texts of a block."""
    view = memoryview(block.buffer)
    return [
        str(view[start:stop], "utf-8")
        for start, stop in zip(block.starts.tolist(), block.stops.tolist(), strict=True)
    ]


def alphabet_of(block: TextBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Code points that occur, ascending, and how often."""
    return count_alphabet(block.buffer, block.starts, block.stops)
