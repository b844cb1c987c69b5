"""Parquet: string columns, cut between row groups.

pyarrow reads through the verified file like everything else, with one thread: the executor decides how many tasks
run at a time. It is imported only when a Parquet file is there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.data.readers.pieces import too_long
from samebits.data.readers.rowblock import BadRow, RowBlock, TextColumn
from samebits.errors import InputError, did_you_mean
from samebits.kernels.text import lines

__all__ = ["parquet_blocks", "row_group_sizes"]

# Rows decoded at a time: 8 MB for documents of 1 kB.
BATCH_ROWS = 8192


def row_group_sizes(file: VerifiedFile) -> tuple[int, ...]:
    """Return the uncompressed size of each row group.

    Raises:
        InputError: It is no Parquet file.
    """
    with _opened(file) as parquet:
        metadata = parquet.metadata
        return tuple(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def parquet_blocks(
    file: VerifiedFile, start: int, stop: int, columns: Sequence[str], *, max_line_bytes: int
) -> Iterator[RowBlock]:
    """Yield the rows of the row groups ``[start, stop)``.

    Raises:
        InputError: A column is missing or holds no strings, or the file is damaged.
    """
    with _opened(file) as parquet:
        _check_columns(parquet.schema_arrow, columns, origin=file.origin)
        metadata = parquet.metadata
        row = sum(metadata.row_group(i).num_rows for i in range(start))
        line = 0
        for batch in parquet.iter_batches(
            BATCH_ROWS, row_groups=range(start, stop), columns=list(columns), use_threads=False
        ):
            yield _block(batch, columns, row=row + line, line=line, max_line_bytes=max_line_bytes)
            line += batch.num_rows


class _SeekableFile(io.RawIOBase):
    """A verified file as pyarrow wants it: any range, whatever the grid of the blocks."""

    def __init__(self, file: VerifiedFile) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        self._at = origin + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        stop = self._file.size if size < 0 else min(self._at + size, self._file.size)
        base = self._at // BLOCK_BYTES * BLOCK_BYTES
        data = self._file.read(base, stop)[self._at - base : stop - base].tobytes()
        self._at += len(data)
        return data


@contextmanager
def _opened(file: VerifiedFile) -> Iterator[Any]:
    """Give a ``ParquetFile``; what pyarrow raises while it is used becomes an InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.PythonFile(_SeekableFile(file), mode="r") as handle, pq.ParquetFile(handle) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}", path=file.origin) from error


def _check_columns(schema: Any, columns: Sequence[str], *, origin: str) -> None:
    import pyarrow as pa

    for name in columns:
        found = schema.names.count(name)
        if found != 1:
            what = f"{found} columns" if found else "no column"
            hint = "" if found else did_you_mean(name, schema.names)
            raise InputError(f"{what} {name!r}", path=origin, hint=hint, column="" if found else name)
        kind = schema.field(name).type
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (
            pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
        ):
            strings = [field.name for field in schema if pa.types.is_string(field.type)]
            raise InputError(
                f"column {name!r} holds {kind}, not strings",
                path=origin,
                hint="string columns: " + (", ".join(strings) or "none"),
            )


def _block(batch: Any, columns: Sequence[str], *, row: int, line: int, max_line_bytes: int) -> RowBlock:
    num_rows = batch.num_rows
    reasons: dict[int, str] = {}
    texts = {}
    for name in columns:
        texts[name], found = _column(batch.column(name), name, max_line_bytes)
        for number, reason in found.items():
            reasons.setdefault(number, reason)
    good = np.ones(num_rows, dtype=np.bool_)
    good[list(reasons)] = False
    rows = np.flatnonzero(good)
    return RowBlock(
        columns={name: TextColumn(c.buffer, c.starts[good], c.stops[good]) for name, c in texts.items()},
        lines=line + rows,
        offsets=row + rows,
        num_lines=num_rows,
        num_blank=0,
        bad=[BadRow(line=line + number, offset=None, reason=reasons[number]) for number in sorted(reasons)],
    )


def _column(array: Any, name: str, max_line_bytes: int) -> tuple[TextColumn, dict[int, str]]:
    """Return a column as positions in Arrow's own buffer, and the rows that cannot be used with the reason."""
    import pyarrow as pa

    large = array.cast(pa.large_string())  # one layout for all: 64-bit offsets, bytes back to back
    _, offsets_buffer, data_buffer = large.buffers()
    bounds = np.frombuffer(offsets_buffer, dtype=np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer else np.empty(0, dtype=np.uint8)
    column = TextColumn(data, bounds[:-1], bounds[1:])
    reasons = _invalid(column)
    for number in np.flatnonzero(column.stops - column.starts > max_line_bytes).tolist():
        reasons[number] = too_long(0, max_line_bytes).reason
    if large.null_count:
        nulls = np.flatnonzero(large.is_null().to_numpy(zero_copy_only=False))
        reasons.update((number, f"{name!r} is null, not a string") for number in nulls.tolist())
    return column, reasons


def _invalid(column: TextColumn) -> dict[int, str]:
    """Find values that are no UTF-8; Arrow does not check.

    Values lie back to back, so one pass tells that all are valid, if no value starts inside a character.
    """
    data, starts, stops = column.buffer, column.starts, column.stops
    if not len(starts) or (_all_start_characters(column) and _is_valid(data, int(starts[0]), int(stops[-1]))):
        return {}
    reasons = {}
    for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        at = lines.find_invalid(data, start, stop)
        if at < stop:
            reasons[number] = f"invalid UTF-8 at byte {at - start}: 0x{data[at]:02x}"
    return reasons


def _all_start_characters(column: TextColumn) -> bool:
    firsts: NDArray[np.uint8] = column.buffer[column.starts[column.starts < column.stops]]
    return not bool(((firsts & 0xC0) == 0x80).any())


def _is_valid(data: NDArray[np.uint8], start: int, stop: int) -> bool:
    return lines.find_invalid(data, start, stop) == stop
