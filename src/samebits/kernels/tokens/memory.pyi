from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

BEFORE_MARK: int
SPACES: int
PUNCTUATION: int
PLAIN: int

class WordMemory:
    @property
    def num_words(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    def find(
        self, buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], how: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], list[bytes]]: ...
    def learn(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None: ...
    def emit(
        self, words: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
