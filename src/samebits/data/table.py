"""Columns to a file people can open: JSON lines or Parquet, the same bytes each time.

JSON lines are the same on every machine. A Parquet file names the library version that wrote it, so its bytes are the
same for the same pyarrow only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing

__all__ = ["Ranked", "json_lines", "write_table"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Counts by key, best first: row i is ``keys[offsets[order[i]]:offsets[order[i] + 1]]`` and ``counts[order[i]]``."""

    keys: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    order: NDArray[np.int64]

    def rows(self) -> list[tuple[str, int]]:
        """Return the rows as Python objects."""
        spans = zip(self.offsets[self.order].tolist(), self.offsets[self.order + 1].tolist(), strict=True)
        keys = self.keys.tobytes()
        names = [keys[start:stop].decode() for start, stop in spans]
        return list(zip(names, self.counts[self.order].tolist(), strict=True))


def write_table(
    out: ArtifactWriter, name: str, columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]
) -> None:
    """Write equally long columns; the suffix of ``name`` says how."""
    if name.endswith(".parquet"):
        _write_parquet(out, name, columns)
    else:
        out.write_bytes(name, json_lines(columns))


def json_lines(columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]) -> bytes:
    """Return equally long columns as JSON lines."""
    if not len(next(iter(columns.values()), ())):
        return b""
    import msgspec

    row = msgspec.defstruct("Row", list(columns))
    values = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return msgspec.json.Encoder().encode_lines(list(map(row, *values)))


def _write_parquet(out: ArtifactWriter, name: str, columns: Mapping[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writing(out.output / name):
        pq.write_table(pa.table(dict(columns)), out.path(name), compression="zstd")
