"""Layout ``rows``: rows of one length, padded; inputs and targets are views of the same array.

``train.tokens.npy`` (rows, length + 1), ``train.lengths.npy``, ``train.source.npy`` (uint64, row number in the input), and with a
separator in the template ``train.prompts.npy``: tokens up to and including it. ``train.input_ids.npy``, ``train.target_ids.npy`` (int32) and
``train.attention_mask.npy`` (bool) are there on request. The input view still holds a row's last token at its first masked position; a
plain padding loop has the padding id there, and so have these files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.tokens.rows import place_rows
from samebits.tokens.keeping.kept_rows import KeptRows
from samebits.tokens.layouts.interface import Extras, StoreLayout, npy_column, prompts_of, source_of
from samebits.tokens.layouts.store_file import Column, Section, StoreShape

if TYPE_CHECKING:
    from samebits.data.token_store import TokenStore

__all__ = ["DEFAULT_LENGTH", "ROWS", "length_dtype"]

DEFAULT_LENGTH = 512  # tokens of an input row when the user does not say


def length_dtype(width: int) -> str:
    """Return the type of ``lengths.npy`` for rows of ``width`` tokens."""
    return "<u2" if width <= 65535 else "<u4"


def _files(num_rows: int, shape: StoreShape, extras: Extras) -> dict[str, tuple[Section, ...]]:
    assert shape.width is not None
    lengths = length_dtype(shape.width)
    columns = {
        "tokens": Column(_tokens, shape.dtype, shape.width),
        "lengths": Column(_lengths, lengths),
        "source": Column(source_of, "<u8"),
    }
    if shape.prompts:
        columns["prompts"] = Column(prompts_of, lengths)
    if extras.materialize:
        length = shape.width - 1
        columns["input_ids"] = Column(_inputs, "<i4", length)
        columns["target_ids"] = Column(_targets, "<i4", length)
        columns["attention_mask"] = Column(_mask, "|b1", length)
    return {f"{name}.npy": npy_column(num_rows, column) for name, column in columns.items()}


def _tokens(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[Any]:
    """Rows of ids, filled up with padding."""
    assert shape.width is not None
    stops = rows.stops[start:stop]
    starts = stops - rows.lengths[start:stop]
    first = int(starts[0])
    block = np.empty((stop - start, shape.width), shape.dtype)
    place_rows(rows.ids(first, int(stops[-1])), starts - first, stops - first, block, shape.pad)
    return block


def _lengths(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    return rows.lengths[start:stop]


def _mask(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.bool_]:
    assert shape.width is not None
    found: NDArray[np.bool_] = np.arange(shape.width - 1) < rows.lengths[start:stop, None] - 1
    return found


def _inputs(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[Any]:
    block = _tokens(rows, start, stop, shape)
    return np.where(_mask(rows, start, stop, shape), block[:, :-1], shape.pad)


def _targets(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[Any]:
    block = _tokens(rows, start, stop, shape)
    return np.where(_mask(rows, start, stop, shape), block[:, 1:], shape.pad)


def _num_bytes(num_rows: int, num_tokens: int, shape: StoreShape, extras: Extras) -> int:
    assert shape.width is not None
    arrays = num_rows * (shape.width - 1) * 9 if extras.materialize else 0
    return num_rows * (shape.width * np.dtype(shape.dtype).itemsize + 12) + arrays


def _stored_ids(store: TokenStore, start: int, stop: int) -> NDArray[Any]:
    block = np.asarray(store.tokens[start:stop])
    found: NDArray[Any] = block[np.arange(block.shape[1]) < store.lengths[start:stop][:, None]]
    return found


ROWS = StoreLayout(DEFAULT_LENGTH, 1, ("materialize",), _files, _num_bytes, _stored_ids)
