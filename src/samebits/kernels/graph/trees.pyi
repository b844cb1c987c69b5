"""Types of the compiled kernel ``graph_trees``."""

import numpy as np
from numpy.typing import NDArray

def tree_distances(
    labels: NDArray[np.int32],
    leaves: NDArray[np.int32],
    roots: NDArray[np.int32],
    node_at: NDArray[np.int64],
    root_at: NDArray[np.int64],
    steps: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    sub: int,
    rem: int,
    ins: int,
) -> NDArray[np.int64]: ...
