from array import array
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.tokens.byte_pairs.pair_merges import PairMerges

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]
_Numbers: TypeAlias = array[int] | NDArray[Any]

class PairMemory:
    num_bytes: int
    def __init__(self, merges: PairMerges, most_digits: int = 0, wide: bool = True) -> None: ...
    def know(self, keys: _Bytes, offsets: _Numbers, ids: _Numbers) -> None: ...
    def encode(
        self,
        buffer: _Bytes,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        classes: _Bytes,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_rows(
        self,
        buffer: _Bytes,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        classes: _Bytes,
        before: _Numbers,
        after: _Numbers,
    ) -> tuple[NDArray[np.uint16], NDArray[np.int64]]: ...
