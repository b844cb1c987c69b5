import numpy as np
from numpy.typing import NDArray

def log2_fixed(values: NDArray[np.uint64]) -> NDArray[np.int64]: ...
def features_of(word: bytes) -> list[tuple[int, int]]: ...
def count_features(
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    entry_stops: NDArray[np.int64],
    languages: NDArray[np.int32],
    counts: NDArray[np.uint32],
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint32]]: ...
