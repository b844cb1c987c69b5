from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

OTHER: int
LETTER: int
DIGIT: int
SPACE: int

class PretokenCounts:
    def __len__(self) -> int: ...
    def add_rows(
        self,
        buffer: _Bytes,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        classes: _Bytes,
    ) -> None: ...
    def add_words(self, buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None: ...
    def add_counts(self, keys: _Bytes, offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> None: ...
    def counted(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]: ...
