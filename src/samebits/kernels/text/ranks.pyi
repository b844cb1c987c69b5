import numpy as np
from numpy.typing import NDArray

def merge_ranked(
    keys: NDArray[np.uint8], offsets: NDArray[np.int64], counts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.int64]: ...
