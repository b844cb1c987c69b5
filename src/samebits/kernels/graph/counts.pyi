"""Types of the compiled kernel ``graph_counts``."""

import numpy as np
from numpy.typing import NDArray

def count_bounds(
    labels: NDArray[np.int32],
    node_at: NDArray[np.int64],
    edge_labels: NDArray[np.int32],
    edge_at: NDArray[np.int64],
    query: int,
    corpus: NDArray[np.int64],
    prices: NDArray[np.int64],
    num_labels: int,
    num_edge_labels: int,
) -> NDArray[np.int64]: ...
