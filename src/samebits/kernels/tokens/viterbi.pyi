from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

class PieceTrie:
    def __init__(
        self,
        pieces: _Bytes,
        offsets: NDArray[np.int64],
        ids: NDArray[np.int32],
        scores: NDArray[np.float64],
    ) -> None: ...
    def encode(
        self,
        buffer: _Bytes,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        unknown: int,
        unknown_score: float,
        byte_ids: NDArray[np.int32],
        *,
        by_word: bool = False,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
