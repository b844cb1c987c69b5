from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

def normalize_pieces(
    buffer: _Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    units: NDArray[np.uint32],
    strings: _Bytes,
    symbols: _Bytes,
    symbol_ends: NDArray[np.int64],
    prefix: bool,
    collapse: bool,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def mark_spaces(
    buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], prepend: bool
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
