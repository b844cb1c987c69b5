"""Layout ``packed``: one stream of ids.

``train.bin`` (ids without a header, which is what nanoGPT reads), ``train.offsets.npy`` (uint64, documents + 1, in tokens),
``train.source.npy`` (uint64, row number in the input), and with a separator in the template ``train.prompts.npy``: tokens up to
and including it. ``train.idx`` makes it readable by Megatron-LM.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.sealing import Sealer
from samebits.data.token_store import TokenStore
from samebits.tokens.layouts.interface import Batch, Extras, PathOf, StoreLayout, StoreShape, close_all
from samebits.tokens.layouts.megatron import write_index
from samebits.tokens.layouts.npy_stream import NpyStream

__all__ = ["EXPORTS", "PACKED", "PackedWriter"]

EXPORTS = ("nanogpt", "megatron")


class PackedWriter:
    """One stream of ids and the offsets of its documents; ``seal`` follows the stream."""

    def __init__(self, path_of: PathOf, split: str, shape: StoreShape) -> None:
        self.num_rows = 0
        self.num_tokens = 0
        self._bin: IO[bytes] = path_of(f"{split}.bin").open("wb")
        self._offsets = NpyStream(path_of(f"{split}.offsets.npy"), "<u8")
        self._offsets.append(np.zeros(1, np.uint64))
        self._source = NpyStream(path_of(f"{split}.source.npy"), "<u8")
        self._prompts = NpyStream(path_of(f"{split}.prompts.npy"), "<u4") if shape.prompts else None
        self._dtype = np.dtype(shape.dtype)
        self.seal = Sealer()

    def append(self, batch: Batch) -> None:
        """Append ids as they are."""
        ids = np.ascontiguousarray(batch.ids, dtype=self._dtype).data
        self._bin.write(ids)
        self.seal.update(ids)
        self._offsets.append(np.cumsum(batch.lengths) + self.num_tokens)
        self._source.append(batch.source)
        if self._prompts:
            self._prompts.append(batch.prompts)
        self.num_rows += len(batch.lengths)
        self.num_tokens += len(batch.ids)

    def close(self) -> None:
        """Close all files."""
        close_all(self._bin, self._offsets, self._source, self._prompts)


def _extras(path_of: PathOf, split: str, shape: StoreShape, extras: Extras) -> None:
    if "megatron" in extras.export:
        offsets = np.load(path_of(f"{split}.offsets.npy"), mmap_mode="r")
        write_index(path_of(f"{split}.idx"), offsets, shape.dtype)


def _num_bytes(num_rows: int, num_tokens: int, shape: StoreShape, extras: Extras) -> int:
    index = 20 * num_rows if "megatron" in extras.export else 0
    return num_tokens * np.dtype(shape.dtype).itemsize + 16 * num_rows + index


def _stored_ids(store: TokenStore, start: int, stop: int) -> NDArray[Any]:
    return np.array(store.tokens[int(store.offsets[start]) : int(store.offsets[stop])])


PACKED = StoreLayout(None, 0, ("export",), PackedWriter, _extras, _num_bytes, _stored_ids)
