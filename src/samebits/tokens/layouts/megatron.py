"""The index that Megatron-LM's readers want beside a ``.bin`` file.

StoreLayout, all little-endian: ``MMIDIDX`` and two zero bytes; uint64 version 1; uint8 code of the id type; uint64 number of
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

__all__ = ["read_index", "write_index"]

MAGIC = b"MMIDIDX\x00\x00"
HEAD = struct.Struct("<QBQQ")
CODES = {"uint8": 1, "uint16": 8, "uint32": 4}
TYPES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
BLOCK = 1 << 20  # sequences written at a time, so that the index never is in memory as a whole


def write_index(path: Path, offsets: NDArray[np.uint64], dtype: str) -> None:
    """Write the index of documents whose tokens are ``offsets[i]`` to ``offsets[i + 1]``.

    Raises:
        ConfigError: if a document has more tokens than its 32 bits can say.
    """
    num, item = len(offsets) - 1, np.dtype(dtype).itemsize
    with path.open("wb") as file:
        file.write(MAGIC + HEAD.pack(1, CODES[np.dtype(dtype).name], num, num + 1))
        for row in range(0, num, BLOCK):
            lengths = np.diff(offsets[row : min(row + BLOCK, num) + 1])
            if len(lengths) and int(lengths.max()) >= 1 << 31:
                raise ConfigError("a document has 2**31 tokens or more, which a Megatron index cannot hold")
            file.write(lengths.astype("<i4").tobytes())
        for row in range(0, num, BLOCK):
            file.write((offsets[row : min(row + BLOCK, num)] * np.uint64(item)).astype("<i8").tobytes())
        for row in range(0, num + 1, BLOCK):
            file.write(np.arange(row, min(row + BLOCK, num + 1), dtype="<i8").tobytes())


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
