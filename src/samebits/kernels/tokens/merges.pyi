import numpy as np
from numpy.typing import NDArray

def learn_merges(
    symbols: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    tokens: list[bytes],
    vocab_size: int,
    min_count: int,
    prefix: bytes = b"",
) -> tuple[NDArray[np.int32], list[bytes]]: ...
