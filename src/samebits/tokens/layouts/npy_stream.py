"""A ``.npy`` file that is appended to: the number of rows is known only at the end.

The header has a fixed place of 128 bytes, so it can be written when the file is closed. The bytes are those of
``numpy.save`` for the same array: a header padded with spaces to a multiple of 64.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEADER_BYTES", "NpyStream", "npy_header"]

HEADER_BYTES = 128


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    r"""Return a version 1.0 header of exactly 128 bytes.

    >>> npy_header(np.dtype("<u2"), (3, 5))[:10]
    b'\x93NUMPY\x01\x00v\x00'
    """
    text = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    body = text.encode("latin1").ljust(HEADER_BYTES - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


class NpyStream:
    """Rows of one type and width, written one block after the other."""

    def __init__(self, path: Path, dtype: str, width: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.width = width
        self.num_rows = 0
        self._file: IO[bytes] = path.open("wb")
        self._file.seek(HEADER_BYTES)

    def append(self, rows: NDArray[Any]) -> None:
        """Write more rows, converted to the file's type."""
        if self.width is not None and rows.shape[1:] != (self.width,):
            raise ValueError(f"rows of shape {rows.shape} in a file of width {self.width}")
        # unlike tofile, names a full disk
        self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        self.num_rows += len(rows)

    def close(self) -> None:
        """Write the header; closing twice does no harm, and a full disk leaves no open file."""
        if self._file.closed:
            return
        shape = (self.num_rows,) if self.width is None else (self.num_rows, self.width)
        with self._file:
            self._file.flush()
            self._file.seek(0, os.SEEK_SET)
            self._file.write(npy_header(self.dtype, shape))
