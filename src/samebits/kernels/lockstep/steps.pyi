import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

def take(taken: NDArray[np.int64], which: int) -> bool: ...
def add_rows(rows: Floats, left: int, right: int, start: int, stop: int) -> None: ...
def fold_rows(
    rows: Floats,
    merges: NDArray[np.int64],
    start: int,
    stop: int,
    factor: float,
    chunk: int,
    squares: NDArray[np.float64],
) -> None: ...
