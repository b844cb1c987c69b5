"""A ``.npy`` file: its header, and mapping it after the header was compared with its size.

Only what this package writes is taken: version 1.0, plain numbers, C order. Nothing in the header is evaluated, and a
header that tells of terabytes allocates nothing.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ArtifactCorrupt

__all__ = ["map_array", "npy_header"]

HEADER = re.compile(
    rb"\{'descr': '([<|][biuf][1248])', 'fortran_order': False, 'shape': \(([0-9, ]{0,60})\), \} *\n"
)
MAGIC = b"\x93NUMPY\x01\x00"
HEADER_BYTES = 128
MOST_AXES = 4
MOST_EMPTY = 1 << 32  # of an axis beside one of length 0


def npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    r"""Return a version 1.0 header of exactly 128 bytes: those of ``numpy.save`` for such an array.

    >>> npy_header("<u2", (3, 5))[:10]
    b'\x93NUMPY\x01\x00v\x00'
    """
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("latin1").ljust(HEADER_BYTES - 11) + b"\n"
    return MAGIC + len(body).to_bytes(2, "little") + body


def map_array(path: Path) -> NDArray[Any]:
    """Map an array read-only.

    Raises:
        ArtifactCorrupt: if the file is anything but the array its header tells of.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(10)
        start = 10 + int.from_bytes(head[8:], "little")
        found = HEADER.fullmatch(file.read(start - 10))
    if head[:8] != MAGIC or found is None:
        raise ArtifactCorrupt(f"{path}: not an array of plain numbers")
    shape = [int(length) for length in found[2].replace(b",", b" ").split()]
    num = math.prod(shape)
    try:
        dtype = np.dtype(found[1].decode())
    except TypeError:
        raise ArtifactCorrupt(f"{path}: {found[1].decode()!r} is not a type of number") from None
    if len(shape) > MOST_AXES or num * dtype.itemsize != size - start:
        raise ArtifactCorrupt(
            f"{path}: the header tells of shape {tuple(shape)} of {dtype.itemsize} bytes each, {size - start} bytes follow it"
        )
    if num == 0:  # an empty file cannot be mapped, and an axis that is not empty may be of any length
        return np.empty([min(length, MOST_EMPTY) for length in shape], dtype)
    return np.memmap(path, dtype, "r", start, tuple(shape))
