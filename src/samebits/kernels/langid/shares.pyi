"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

def best_shares(
    scores: NDArray[np.int32],
    letters: NDArray[np.int32],
    halving: NDArray[np.int64],
    powers: NDArray[np.uint32],
    allowed: NDArray[np.uint8],
    bits: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best of the allowed languages, at least one, and its probability.

    A language's weight halves with every ``halving[letters]`` it is behind; ``powers[i]`` is 2**30 times 2**(-i / 2**bits).
    """
