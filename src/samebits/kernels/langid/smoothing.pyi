"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

def gains_and_values(
    counts: NDArray[np.uint32],
    languages: NDArray[np.uint8],
    stops: NDArray[np.int64],
    groups: NDArray[np.uint8],
    ends: NDArray[np.uint8],
    contexts: NDArray[np.int32],
    shorter: NDArray[np.int32],
    tenths: NDArray[np.int64],
    num_languages: int,
    unknown: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]: ...
def weigh(
    counts: NDArray[np.uint32],
    languages: NDArray[np.uint8],
    stops: NDArray[np.int64],
    groups: NDArray[np.uint8],
    contexts: NDArray[np.int32],
    shorter: NDArray[np.int32],
    gains: NDArray[np.int32],
    frequent: int,
    for_words: int,
) -> NDArray[np.int32]: ...
