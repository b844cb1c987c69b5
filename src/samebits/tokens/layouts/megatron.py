"""The index that Megatron-LM's readers want beside a ``.bin`` file.

Layout, all little-endian: ``MMIDIDX`` and two zero bytes; uint64 version 1; uint8 code of the id type; uint64 number of
sequences; uint64 length of the document index; then int32 tokens of each sequence, int64 byte offset of each
sequence, int64 document index (here one sequence is one document). There is no code for uint32: ids stay below
2**31, so their bytes are those of int32.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError, InputError
from samebits.tokens.keeping.kept_rows import KeptRows
from samebits.tokens.layouts.store_file import Column, Section, StoreShape

__all__ = ["index_sections", "read_index"]

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<QBQQ")
CODES = {"uint8": 1, "uint16": 8, "uint32": 4}
TYPES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}


def index_sections(num_rows: int, shape: StoreShape) -> tuple[Section, ...]:
    """Return what the index of so many documents consists of."""
    head = MAGIC + HEAD.pack(1, CODES[np.dtype(shape.dtype).name], num_rows, num_rows + 1)
    last = np.array([num_rows], "<i8").tobytes()  # the document index has one entry more
    return (head, Column(_lengths, "<i4"), Column(_pointers, "<i8"), Column(_documents, "<i8"), last)


def _lengths(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    """Tokens of each document.

    Raises:
        ConfigError: if a document has more tokens than its 32 bits can say.
    """
    lengths = rows.lengths[start:stop]
    if int(lengths.max(initial=0)) >= 1 << 31:
        raise ConfigError("a document has 2**31 tokens or more, which a Megatron index cannot hold")
    return lengths


def _pointers(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    """Where the bytes of each document begin."""
    starts = rows.stops[start:stop] - rows.lengths[start:stop] + rows.tokens_before
    return starts * np.dtype(shape.dtype).itemsize


def _documents(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    return np.arange(rows.first_row + start, rows.first_row + stop)


def read_index(path: Path) -> tuple[str, NDArray[np.int32], NDArray[np.int64]]:
    """Read an index back: (type of the ids, tokens of each sequence, byte offset of each).

    Raises:
        InputError: if the file is not such an index or is cut short.
    """
    data = path.read_bytes()
    head_stop = len(MAGIC) + HEAD.size
    if len(data) < head_stop or not data.startswith(MAGIC):
        raise InputError("not a Megatron index", path=str(path))
    version, code, num, num_documents = HEAD.unpack_from(data, len(MAGIC))
    if version != 1 or code not in TYPES:
        raise InputError(f"a Megatron index of version {version} with type code {code}", path=str(path))
    if len(data) < head_stop + 12 * num + 8 * num_documents:
        raise InputError("a Megatron index that is cut short", path=str(path))
    lengths = np.frombuffer(data, "<i4", num, head_stop)
    pointers = np.frombuffer(data, "<i8", num, head_stop + 4 * num)
    return TYPES[code], lengths, pointers
