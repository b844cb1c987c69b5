"""Layout ``packed``: one stream of ids.

``train.bin`` (ids without a header, which is what nanoGPT reads), ``train.offsets.npy`` (uint64, documents + 1, in tokens),
``train.source.npy`` (uint64, row number in the input), and with a separator in the template ``train.prompts.npy``: tokens up to
and including it. ``train.idx`` makes it readable by Megatron-LM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.array_file import npy_header
from samebits.tokens.keeping.kept_rows import KeptRows
from samebits.tokens.layouts.interface import Extras, StoreLayout, npy_column, prompts_of, source_of
from samebits.tokens.layouts.megatron import index_sections
from samebits.tokens.layouts.store_file import Column, Ids, Section, StoreShape

if TYPE_CHECKING:
    from samebits.data.token_store import TokenStore

__all__ = ["EXPORTS", "PACKED"]

EXPORTS = ("nanogpt", "megatron")


def _files(num_rows: int, shape: StoreShape, extras: Extras) -> dict[str, tuple[Section, ...]]:
    first = np.zeros(1, "<u8").tobytes()  # one offset more than there are documents
    files: dict[str, tuple[Section, ...]] = {
        "bin": (Ids(),),
        "offsets.npy": (npy_header("<u8", (num_rows + 1,)), first, Column(_stops, "<u8")),
        "source.npy": npy_column(num_rows, Column(source_of, "<u8")),
    }
    if shape.prompts:
        files["prompts.npy"] = npy_column(num_rows, Column(prompts_of, "<u4"))
    if "megatron" in extras.export:
        files["idx"] = index_sections(num_rows, shape)
    return files


def _stops(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    return rows.stops[start:stop] + rows.tokens_before


def _num_bytes(num_rows: int, num_tokens: int, shape: StoreShape, extras: Extras) -> int:
    index = 20 * num_rows if "megatron" in extras.export else 0
    return num_tokens * np.dtype(shape.dtype).itemsize + 16 * num_rows + index


def _stored_ids(store: TokenStore, start: int, stop: int) -> NDArray[Any]:
    return np.array(store.tokens[int(store.offsets[start]) : int(store.offsets[stop])])


PACKED = StoreLayout(None, 0, ("export",), _files, _num_bytes, _stored_ids)
