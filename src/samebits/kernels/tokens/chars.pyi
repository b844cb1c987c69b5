from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

def check_rows(size: int, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int: ...
def bytes_to_ids(
    buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
def chars_to_ids(
    buffer: _Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    table: NDArray[np.int32],
    unknown: int,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]: ...
def count_chars(buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]: ...
def rows_to_strings(buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> list[str]: ...
def rows_to_bytes(buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> list[bytes]: ...
def rows_with_chars(
    buffer: _Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    firsts: NDArray[np.int32],
    lasts: NDArray[np.int32],
) -> NDArray[np.uint8]: ...
