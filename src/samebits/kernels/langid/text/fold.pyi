from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.text.unicode import Tables

class Folded(TypedDict):
    """``words[word_stops[w - 1] : word_stops[w]]`` is word w; ``cut`` marks rows longer than ``most_points``."""

    tokens: NDArray[np.uint32]
    token_stops: NDArray[np.int64]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    cut: NDArray[np.uint8]

def fold_rows(
    tables: Tables,
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    most_points: int,
) -> Folded: ...
