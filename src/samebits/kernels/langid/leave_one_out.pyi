"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.score import Scorer

def leave_one_out(
    scorer: Scorer,
    tokens: NDArray[np.uint32],
    token_stops: NDArray[np.int64],
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    labels: NDArray[np.int32],
    counts: NDArray[np.uint32],
    constants: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
