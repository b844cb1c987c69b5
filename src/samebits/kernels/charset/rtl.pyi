"""Types of the compiled kernel ``rtl``."""

import numpy as np
from numpy.typing import NDArray

def visual_order(
    text: NDArray[np.uint32], classes: NDArray[np.uint8], mirror: NDArray[np.uint32]
) -> None: ...
def join_letters(text: NDArray[np.uint32], joining: NDArray[np.uint8], forms: NDArray[np.uint32]) -> None: ...
