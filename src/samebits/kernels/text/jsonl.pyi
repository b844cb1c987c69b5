from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def extract_strings(
    data: bytearray | NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    keys: Sequence[bytes],
    wide: bool = True,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]: ...
