import numpy as np
from numpy.typing import NDArray

class Scorer:
    def __init__(
        self,
        keys: NDArray[np.uint64],
        stops: NDArray[np.int64],
        languages: NDArray[np.uint16],
        values: NDArray[np.int16],
        floors: NDArray[np.int32],
        finds: bool = True,
    ) -> None: ...
    def score(
        self,
        tokens: NDArray[np.uint32],
        token_stops: NDArray[np.int64],
        words: NDArray[np.uint8],
        word_stops: NDArray[np.int64],
        first: int,
        last: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
    def scatter(
        self,
        tokens: NDArray[np.uint32],
        token_stops: NDArray[np.int64],
        words: NDArray[np.uint8],
        word_stops: NDArray[np.int64],
        first: int,
        gradient: NDArray[np.int32],
        sums: NDArray[np.int64],
    ) -> None: ...

def softmax_gradient(
    scores: NDArray[np.int32], labels: NDArray[np.int32], powers: NDArray[np.uint32], shift: int
) -> NDArray[np.int32]: ...
