"""JSON lines: one object a line, the wanted top-level keys hold strings.

The kernel takes every line it is sure of; the rest comes here, one line at a time, and this file defines what is
right: msgspec reads it or it is bad. Duplicate keys: the last one counts, as everywhere. Lone surrogates are bad,
also in keys nobody asked for, because such a line cannot be written as UTF-8 again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.readers.parse import Records, block_of, columns_of, split_piece
from samebits.data.readers.pieces import Piece
from samebits.data.readers.rowblock import RowBlock
from samebits.kernels.text import jsonl, lines

__all__ = ["MAX_DEPTH", "JsonParser"]

# A limit of our own: the parsers' limits depend on how deep the Python stack already is, so on the executor.
MAX_DEPTH = 256
_STRINGS_AND_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


class _Refused(Exception):  # never leaves this file
    """A line is bad; the message is the reason."""


@dataclass(frozen=True, slots=True)
class JsonParser:
    """Reads the wanted keys of each line."""

    columns: Sequence[str]
    max_line_bytes: int

    def __call__(self, piece: Piece, *, first_line: int) -> RowBlock:
        """Let the kernel take what it can, and look at the other lines one by one."""
        data = piece.buffer
        starts, stops = lines.split_lines(data, piece.start, piece.stop)
        records = split_piece(piece, starts, stops, max_line_bytes=self.max_line_bytes)
        keys = [name.encode() for name in self.columns]
        accepted, value_starts, value_stops = jsonl.extract_strings(data, starts, stops, records.kinds, keys)
        for record in np.flatnonzero((accepted == 0) & (records.kinds == lines.TEXT)).tolist():
            self._look(data, records, record, value_starts, value_stops)
        rows = records.rows()
        columns = columns_of(self.columns, data, value_starts, value_stops, rows)
        return block_of(piece, records, rows, columns, first_line=first_line)

    def _look(
        self,
        data: NDArray[np.uint8],
        records: Records,
        record: int,
        value_starts: NDArray[np.int64],
        value_stops: NDArray[np.int64],
    ) -> None:
        """Read one line the slow way; put its values where the line was, which is always large enough."""
        at = int(records.starts[record])
        try:
            values = read_strings(data[at : records.stops[record]].tobytes(), self.columns)
        except _Refused as refused:
            records.refuse(record, str(refused))
            return
        for k, value in enumerate(values):
            value_starts[k, record] = at
            at += len(value)
            value_stops[k, record] = at
            data[at - len(value) : at] = np.frombuffer(value, dtype=np.uint8)


def read_strings(line: bytes, keys: Sequence[str]) -> list[bytes]:
    """Return the values of the keys as UTF-8.

    Raises:
        _Refused: With the reason why the line is bad.
    """
    import msgspec  # most files hold only lines that the kernel reads

    _check_depth(line)
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Refused(_why_not_json(line, error)) from error
    if not isinstance(found, dict):
        raise _Refused(f"not a JSON object but {_kind(found)}")
    values = []
    for key in keys:
        if key not in found:
            raise _Refused(f"no key {key!r}")
        value = found[key]
        if not isinstance(value, str):
            raise _Refused(f"{key!r} is {_kind(value)}, not a string")
        values.append(value.encode())
    return values


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a number")


def _check_depth(line: bytes) -> None:
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _STRINGS_AND_BRACKETS.finditer(line):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH} levels")


def _why_not_json(line: bytes, error: Exception) -> str:
    """Say why; msgspec calls a lone surrogate truncated input, so the standard parser is asked about those."""
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError as surrogate:
        return f"lone surrogate \\u{ord(surrogate.object[surrogate.start]):04x} in a string"
    except (ValueError, RecursionError):
        pass
    return "not valid JSON: " + str(error).removeprefix("JSON is malformed: ")
