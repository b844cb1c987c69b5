import numpy as np
from numpy.typing import NDArray

class PairMerges:
    def __init__(
        self,
        left: NDArray[np.uint32],
        right: NDArray[np.uint32],
        merged: NDArray[np.uint32],
        byte_ids: NDArray[np.uint32],
    ) -> None: ...
