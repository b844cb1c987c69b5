"""Types of the compiled kernel ``bytecounts``."""

import numpy as np
from numpy.typing import NDArray

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]

def count_bytes(data: Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]: ...
def add_weighted(
    counts: NDArray[np.int64],
    data: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> None: ...
def add_crossings(
    counts: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.int64],
    last_bytes: NDArray[np.uint8],
    first_bytes: NDArray[np.uint8],
) -> None: ...
def rewrite(
    text: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    table: NDArray[np.uint32],
    points: NDArray[np.uint32],
    is_space: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> tuple[bytes, NDArray[np.int64]]: ...
