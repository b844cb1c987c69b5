"""Types of the tree decoders."""

import numpy as np
from numpy.typing import NDArray

def spanning_tree(scores: NDArray[np.float64]) -> NDArray[np.int32]: ...
def slot_tree(
    scores: NDArray[np.float64],
    roots: NDArray[np.float64],
    needs: NDArray[np.int32],
    may: NDArray[np.int8],
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None: ...
