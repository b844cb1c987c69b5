"""Columns to a file people can open: JSON lines or Parquet, the same bytes each time.

JSON lines are the same on every machine. A Parquet file names the library version that wrote it, so its bytes are the
same for the same pyarrow only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing

__all__ = ["json_lines", "write_counts", "write_table"]

ROW_GROUP = 1 << 20  # rows; what pyarrow itself takes


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


def write_counts(
    out: ArtifactWriter,
    name: str,
    key: str,
    pieces: Iterable[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]],
) -> None:
    """Write counted keys as a Parquet file, row group by row group: no more than that and one piece is held.

    Args:
        out: The artifact.
        name: Of the file.
        key: Name of the column of keys; the other one is ``count``.
        pieces: Keys one after the other, where each begins and the last one ends, and counts.
    """
    import pyarrow.parquet as pq

    groups = _row_groups(pieces, key)
    first = next(groups, None)
    if first is None:
        write_table(out, name, {key: [], "count": []})
        return
    with (
        writing(out.output / name),
        pq.ParquetWriter(out.path(name), first.schema, compression="zstd") as file,
    ):
        file.write_table(first, row_group_size=ROW_GROUP)
        for group in groups:
            file.write_table(group, row_group_size=ROW_GROUP)


def _row_groups(pieces: Iterable[Any], key: str) -> Iterator[Any]:
    """Yield tables of ``ROW_GROUP`` rows, each in one chunk; the last one may have fewer."""
    import pyarrow as pa

    held: list[Any] = []
    for keys, offsets, counts in pieces:
        buffers = (pa.py_buffer(offsets), pa.py_buffer(keys))
        names = pa.LargeStringArray.from_buffers(len(counts), *buffers).cast(pa.string())
        table = pa.table({key: names, "count": counts})
        while sum(map(len, held)) + len(table) >= ROW_GROUP:
            missing = ROW_GROUP - sum(map(len, held))
            yield pa.concat_tables([*held, table.slice(0, missing)]).combine_chunks()
            held, table = [], table.slice(missing)
        if len(table):
            held.append(table)
    if held:
        yield pa.concat_tables(held).combine_chunks()
