"""Types of the compiled kernel ``bytescore``."""

import numpy as np
from numpy.typing import NDArray

def score(
    data: bytes | memoryview,
    costs: NDArray[np.uint8],
    skips: NDArray[np.uint8],
    ascii_weight: int,
    other_weight: int,
) -> NDArray[np.int64]: ...
