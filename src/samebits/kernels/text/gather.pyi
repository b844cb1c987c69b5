import numpy as np
from numpy.typing import NDArray

def join_rows(
    buffer: NDArray[np.uint8] | bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], separator: int
) -> bytes: ...
