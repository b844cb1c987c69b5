"""A safetensors file written straight from shared memory: hashed while it is written, synced, no second copy of the state."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["read_tensors", "write_tensors"]

KINDS = {"<f4": "F32", "<f8": "F64", "<u4": "U32", "<i8": "I64"}
BLOCK = 1 << 22  # bytes hashed and written at a time


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Write and sync a file; return its sha256."""
    header: dict[str, Any] = {}
    position = 0
    for name, value in tensors.items():
        stop = position + value.nbytes
        header[name] = {
            "dtype": KINDS[value.dtype.newbyteorder("<").str],
            "shape": list(value.shape),
            "data_offsets": [position, stop],
        }
        position = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)  # data then starts on 8 bytes, as the format wants
    hasher = hashlib.sha256()
    with path.open("wb") as file:
        pieces: list[Any] = [
            np.ascontiguousarray(value).reshape(-1).view(np.uint8) for value in tensors.values()
        ]
        for view in (len(text).to_bytes(8, "little"), text, *pieces):
            for start in range(0, len(view), BLOCK):
                block = view[start : start + BLOCK]
                hasher.update(block)
                file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return hasher.hexdigest()


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return all tensors of a file, mapped read-only.

    Raises:
        ValueError: if it is no such file.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(data[:8].tobytes(), "little")
    if len(data) < 8 or size > len(data) - 8:
        raise ValueError(f"a header of {size} bytes in a file of {len(data)}")
    header = msgspec.json.decode(data[8 : 8 + size].tobytes(), type=dict[str, _Entry])
    kinds = {value: key for key, value in KINDS.items()}
    body = data[8 + size :]
    found: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        start, stop = entry.data_offsets
        if entry.dtype not in kinds or not 0 <= start <= stop <= len(body) or min(entry.shape, default=0) < 0:
            raise ValueError(f"tensor {name!r} lies outside the file")
        found[name] = body[start:stop].view(kinds[entry.dtype]).reshape(entry.shape)
    return found
