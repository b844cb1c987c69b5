import numpy as np
from numpy.typing import NDArray

Csr = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]

def first_rows(hashes: NDArray[np.uint64], kept: NDArray[np.uint8]) -> NDArray[np.int64]: ...
def accumulate(
    tokens: NDArray[np.uint32],
    token_stops: NDArray[np.int64],
    labels: NDArray[np.int32],
    keep: NDArray[np.uint8],
    num_words: int,
    num_languages: int,
    once_per_row: bool,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]: ...

class Dictionary:
    def __init__(self, num_words: int) -> None: ...
    def add(
        self,
        words: NDArray[np.uint32],
        stops: NDArray[np.int64],
        languages: NDArray[np.int32],
        counts: NDArray[np.uint32],
    ) -> None: ...
    def export(self) -> Csr: ...
