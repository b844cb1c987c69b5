"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.score import Scorer

class OwnCounts:
    def __new__(
        cls, scorer: Scorer, counts: NDArray[np.uint32], constants: NDArray[np.int64]
    ) -> OwnCounts: ...
