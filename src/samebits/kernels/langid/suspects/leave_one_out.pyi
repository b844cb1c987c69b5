"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.suspects.own_counts import OwnCounts

def leave_one_out(
    counts: OwnCounts,
    tokens: NDArray[np.uint32],
    token_stops: NDArray[np.int64],
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    labels: NDArray[np.int32],
    rows: NDArray[np.int64],
    least: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
