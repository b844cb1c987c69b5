"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

class Enough:
    """When enough of a text was read, for one model and its allowed languages."""

    def __init__(
        self,
        slots: NDArray[np.uint8],
        odds: NDArray[np.int32],
        floors: NDArray[np.int32],
        allowed: NDArray[np.uint8],
        groups: tuple[NDArray[np.int32], NDArray[np.int32]],
        halving: NDArray[np.int64],
        weights: tuple[NDArray[np.int32], NDArray[np.int32]],
        leads: tuple[int, int],
    ) -> None: ...
