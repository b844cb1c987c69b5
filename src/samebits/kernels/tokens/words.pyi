from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

SPACE: int
ALONE: int
WORD: int

def build_table(
    arena: _Bytes, offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]: ...
def words_to_ids(
    buffer: _Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    classes: NDArray[np.uint8],
    arena: _Bytes,
    words: NDArray[np.int64],
    slots: NDArray[np.int32],
    heads: NDArray[np.uint64],
    singles: NDArray[np.int32],
    first_id: int,
    unknown: int,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]: ...
def count_words(
    buffer: _Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
