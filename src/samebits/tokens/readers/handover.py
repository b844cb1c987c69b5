"""Give a store to Arrow and Hugging Face ``datasets`` without copying the tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from samebits.data.files import writing
from samebits.data.token_store import TokenStore
from samebits.errors import MissingExtra

__all__ = ["to_arrow", "to_datasets", "write_arrow"]


def to_arrow(store: TokenStore) -> Any:
    """Return a ``pyarrow.Table``: ``input_ids`` (lists over the mapped tokens), ``source``, and ``prompt_length``.

    Rows of a store with layout ``rows`` come with their padding and a column ``length``.
    """
    import pyarrow as pa

    if store.layout == "packed":
        offsets = pa.array(np.asarray(store.offsets, np.int64))
        values = pa.array(store.tokens)
        columns = {"input_ids": pa.LargeListArray.from_arrays(offsets, values)}
    else:
        flat = pa.array(store.tokens.reshape(-1))
        columns = {
            "input_ids": pa.FixedSizeListArray.from_arrays(flat, store.tokens.shape[1]),
            "length": pa.array(store.lengths),
        }
    columns["source"] = pa.array(np.asarray(store.source))
    if store.prompts is not None:
        columns["prompt_length"] = pa.array(np.asarray(store.prompts, np.int64))
    return pa.table(columns)


def write_arrow(store: TokenStore, path: Path | str) -> None:
    """Write an Arrow stream file, which ``datasets.Dataset.from_file`` maps."""
    import pyarrow as pa

    table = to_arrow(store)
    with (
        writing(Path(path)),
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as sink,
    ):
        sink.write_table(table, max_chunksize=10_000)


def to_datasets(store: TokenStore) -> Any:
    """Return a ``datasets.Dataset`` over the store.

    Raises:
        MissingExtra: if Hugging Face ``datasets`` is not installed.
    """
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", extra="datasets", needed_for="to_datasets") from None
    return datasets.Dataset(datasets.table.InMemoryTable(to_arrow(store)))
