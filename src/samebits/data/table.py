"""Columns to a file people can open: JSON lines or Parquet, the same bytes each time.

JSON lines are the same on every machine. A Parquet file names the library version that wrote it, so its bytes are the
same for the same pyarrow only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing

__all__ = ["write_table"]


def write_table(
    out: ArtifactWriter, name: str, columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]
) -> None:
    """Write equally long columns; the suffix of ``name`` says how."""
    if name.endswith(".parquet"):
        _write_parquet(out, name, columns)
    else:
        _write_jsonl(out, name, columns)


def _write_jsonl(out: ArtifactWriter, name: str, columns: Mapping[str, Any]) -> None:
    import msgspec

    row = msgspec.defstruct("Row", list(columns))
    values = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    out.write_bytes(name, msgspec.json.Encoder().encode_lines(list(map(row, *values))))


def _write_parquet(out: ArtifactWriter, name: str, columns: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writing(out.output / name):
        pq.write_table(pa.table(dict(columns)), out.path(name), compression="zstd")
