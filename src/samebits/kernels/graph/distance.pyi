"""Types of the compiled kernel ``graph_distance``."""

import numpy as np
from numpy.typing import NDArray

def distances(
    labels: NDArray[np.int32],
    node_at: NDArray[np.int64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    edge_labels: NDArray[np.int32],
    edge_at: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    limits: NDArray[np.int64],
    prices: NDArray[np.int64],
    grain: int,
    directed: bool,
    num_edge_labels: int,
    budget: int,
    with_mappings: bool = False,
    saved: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...
def assign_rows(cost: NDArray[np.int64]) -> tuple[int, NDArray[np.int32], NDArray[np.int64]]: ...
