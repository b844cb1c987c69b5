"""The files of a store. A writer takes rows in order and never holds more than one batch.

=========  ====================================================================================================
packed     ``train.bin`` (ids without a header, which is what nanoGPT reads), ``train.offsets.npy`` (uint64,
           documents + 1, in tokens), ``train.source.npy`` (uint64, row number in the input)
rows       ``train.tokens.npy`` (rows, length + 1), ``train.lengths.npy``, ``train.source.npy``
both       ``train.prompts.npy`` with a separator in the template: tokens up to and including it
=========  ====================================================================================================
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.tokens.rows import place_rows
from samebits.tokens.layouts.npy_stream import NpyStream

__all__ = ["Batch", "PackedWriter", "RowWriter", "RowsWriter", "close_all", "length_dtype", "materialize"]

BLOCK_ROWS = 4096
PathOf = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows on their way to disk: row ``i`` has ``lengths[i]`` tokens of ``ids`` and came from line ``source[i]``."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]
    source: NDArray[np.uint64]
    prompts: NDArray[np.int64]


class RowWriter(Protocol):
    """Takes batches, in order, for one split."""

    num_rows: int
    num_tokens: int

    def append(self, batch: Batch) -> None:
        """Write the rows of a batch."""
        ...

    def close(self) -> None:
        """Finish the files."""
        ...


def length_dtype(width: int) -> str:
    """Return the type of ``lengths.npy`` for rows of ``width`` tokens."""
    return "<u2" if width <= 65535 else "<u4"


class PackedWriter:
    """One stream of ids and the offsets of its documents; ``sha256`` follows the stream."""

    def __init__(self, path_of: PathOf, split: str, dtype: str, *, prompts: bool) -> None:
        self.num_rows = 0
        self.num_tokens = 0
        self._bin: IO[bytes] = path_of(f"{split}.bin").open("wb")
        self._offsets = NpyStream(path_of(f"{split}.offsets.npy"), "<u8")
        self._offsets.append(np.zeros(1, np.uint64))
        self._source = NpyStream(path_of(f"{split}.source.npy"), "<u8")
        self._prompts = NpyStream(path_of(f"{split}.prompts.npy"), "<u4") if prompts else None
        self._dtype = np.dtype(dtype)
        self.sha256 = hashlib.sha256()

    def append(self, batch: Batch) -> None:
        """Append ids as they are."""
        ids = np.ascontiguousarray(batch.ids, dtype=self._dtype).data
        self._bin.write(ids)
        self.sha256.update(ids)
        self._offsets.append(np.cumsum(batch.lengths) + self.num_tokens)
        self._source.append(batch.source)
        if self._prompts:
            self._prompts.append(batch.prompts)
        self.num_rows += len(batch.lengths)
        self.num_tokens += len(batch.ids)

    def close(self) -> None:
        """Close all files."""
        close_all(self._bin, self._offsets, self._source, self._prompts)


class RowsWriter:
    """Fixed rows, padded; inputs and targets are views of the same array."""

    def __init__(
        self, path_of: PathOf, split: str, dtype: str, *, width: int, pad: int, prompts: bool
    ) -> None:
        self.num_rows = 0
        self.num_tokens = 0
        self._width, self._pad = width, pad
        self._tokens = NpyStream(path_of(f"{split}.tokens.npy"), dtype, width)
        self._lengths = NpyStream(path_of(f"{split}.lengths.npy"), length_dtype(width))
        self._source = NpyStream(path_of(f"{split}.source.npy"), "<u8")
        self._prompts = NpyStream(path_of(f"{split}.prompts.npy"), length_dtype(width)) if prompts else None

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


def close_all(*streams: RowWriter | IO[bytes] | NpyStream | None) -> None:
    """Close each of them even if one fails, as on a full disk; then raise what was wrong."""
    with ExitStack() as stack:
        for stream in streams:
            if stream is not None:
                stack.callback(stream.close)


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
