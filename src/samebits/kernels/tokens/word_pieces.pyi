from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

class WordPieces:
    def __init__(
        self,
        keys: _Bytes,
        offsets: NDArray[np.int64],
        ids: NDArray[np.uint32],
        inside: NDArray[np.uint8],
        unknown: int,
        most_bytes: int,
    ) -> None: ...
    def encode(
        self, buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
