"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.compact import CompactScorer

def find_spans(
    scorer: CompactScorer,
    text: bytes,
    biases: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    price: int,
    most_points: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
