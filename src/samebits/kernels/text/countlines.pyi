import numpy as np
from numpy.typing import NDArray

def count_lines(
    keys: bytes | NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    order: NDArray[np.int64],
    key_name: bytes,
    count_name: bytes,
) -> NDArray[np.uint8]: ...
