import numpy as np
from numpy.typing import NDArray

def score_rows(
    tokens: NDArray[np.uint32],
    token_stops: NDArray[np.int64],
    word_stops: NDArray[np.int64],
    languages: NDArray[np.int32],
    num_languages: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...
