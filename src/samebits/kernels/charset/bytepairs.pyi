"""Types of the compiled kernel ``bytepairs``."""

import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

SPACE: int
SPECIAL: int
COLLAPSE: int
HARD: int
NUM_CODE_POINTS: int

def count_alphabet(
    text: Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def count_pairs(
    text: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    table: NDArray[np.uint32],
    *,
    num_ids: int,
    min_chars: int,
    look_for_hard: bool,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.uint8],
    NDArray[np.int64],
]: ...
