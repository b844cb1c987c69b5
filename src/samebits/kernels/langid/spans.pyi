"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.compact import CompactScorer
from samebits.kernels.langid.enough import Enough

def find_spans(
    scorer: CompactScorer,
    text: bytes,
    biases: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    price: int,
    most_points: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def words_of(
    scorer: CompactScorer, text: bytes, most_points: int, enough: Enough | None = None
) -> list[tuple[str, list[tuple[int, int, list[tuple[int, int]]]]]]: ...
