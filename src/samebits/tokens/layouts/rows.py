"""Layout ``rows``: rows of one length, padded; inputs and targets are views of the same array.

``train.tokens.npy`` (rows, length + 1), ``train.lengths.npy``, ``train.source.npy`` (uint64, row number in the input), and with a
separator in the template ``train.prompts.npy``: tokens up to and including it.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.token_store import TokenStore
from samebits.kernels.tokens.rows import place_rows
from samebits.tokens.layouts.interface import Batch, Extras, PathOf, StoreLayout, StoreShape, close_all
from samebits.tokens.layouts.npy_stream import NpyStream

__all__ = ["ROWS", "RowsWriter", "length_dtype", "materialize"]

DEFAULT_LENGTH = 512  # tokens of an input row when the user does not say
BLOCK_ROWS = 4096


def length_dtype(width: int) -> str:
    """Return the type of ``lengths.npy`` for rows of ``width`` tokens."""
    return "<u2" if width <= 65535 else "<u4"


class RowsWriter:
    """Fixed rows, padded; inputs and targets are views of the same array."""

    def __init__(self, path_of: PathOf, split: str, shape: StoreShape) -> None:
        assert shape.width is not None
        self.num_rows = 0
        self.num_tokens = 0
        self._width, self._pad = shape.width, shape.pad
        self._tokens = NpyStream(path_of(f"{split}.tokens.npy"), shape.dtype, shape.width)
        self._lengths = NpyStream(path_of(f"{split}.lengths.npy"), length_dtype(shape.width))
        self._source = NpyStream(path_of(f"{split}.source.npy"), "<u8")
        self._prompts = (
            NpyStream(path_of(f"{split}.prompts.npy"), length_dtype(shape.width)) if shape.prompts else None
        )

    def append(self, batch: Batch) -> None:
        """Place the rows block by block."""
        stops = np.cumsum(batch.lengths)
        starts = stops - batch.lengths
        block = np.empty((min(BLOCK_ROWS, len(starts)), self._width), batch.ids.dtype)
        for row in range(0, len(starts), BLOCK_ROWS):
            begin, end = starts[row : row + BLOCK_ROWS], stops[row : row + BLOCK_ROWS]
            place_rows(batch.ids, begin, end, block, self._pad)
            self._tokens.append(block[: len(begin)])
        self._lengths.append(batch.lengths)
        self._source.append(batch.source)
        if self._prompts:
            self._prompts.append(batch.prompts)
        self.num_rows += len(starts)
        self.num_tokens += len(batch.ids)

    def close(self) -> None:
        """Close all files."""
        close_all(self._tokens, self._lengths, self._source, self._prompts)


def materialize(path_of: PathOf, split: str, *, pad: int) -> None:
    """Write ``input_ids``, ``target_ids`` (int32) and ``attention_mask`` (bool) from finished rows.

    The input view still holds a row's last token at its first masked position; a plain padding loop has the padding
    id there, and so have these files.
    """
    tokens = np.load(path_of(f"{split}.tokens.npy"), mmap_mode="r")
    lengths = np.load(path_of(f"{split}.lengths.npy"), mmap_mode="r")
    length = tokens.shape[1] - 1
    inputs = NpyStream(path_of(f"{split}.input_ids.npy"), "<i4", length)
    targets = NpyStream(path_of(f"{split}.target_ids.npy"), "<i4", length)
    masks = NpyStream(path_of(f"{split}.attention_mask.npy"), "|b1", length)
    with closing(inputs), closing(targets), closing(masks):
        for row in range(0, len(tokens), BLOCK_ROWS):
            block = np.asarray(tokens[row : row + BLOCK_ROWS])
            mask = np.arange(length) < lengths[row : row + BLOCK_ROWS].astype(np.int64)[:, None] - 1
            inputs.append(np.where(mask, block[:, :-1], pad))
            targets.append(np.where(mask, block[:, 1:], pad))
            masks.append(mask)


def _extras(path_of: PathOf, split: str, shape: StoreShape, extras: Extras) -> None:
    if extras.materialize:
        materialize(path_of, split, pad=shape.pad)


def _num_bytes(num_rows: int, num_tokens: int, shape: StoreShape, extras: Extras) -> int:
    assert shape.width is not None
    arrays = num_rows * (shape.width - 1) * 9 if extras.materialize else 0
    return num_rows * (shape.width * np.dtype(shape.dtype).itemsize + 12) + arrays


def _stored_ids(store: TokenStore, start: int, stop: int) -> NDArray[Any]:
    block = np.asarray(store.tokens[start:stop])
    found: NDArray[Any] = block[np.arange(block.shape[1]) < store.lengths[start:stop][:, None]]
    return found


ROWS = StoreLayout(DEFAULT_LENGTH, 1, ("materialize",), RowsWriter, _extras, _num_bytes, _stored_ids)
