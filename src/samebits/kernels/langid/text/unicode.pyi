import numpy as np
from numpy.typing import NDArray

class Tables:
    def __init__(
        self,
        stage1: NDArray[np.uint16],
        stage2: NDArray[np.uint16],
        flags: NDArray[np.uint16],
        script: NDArray[np.uint8],
        keep: NDArray[np.uint64],
        ccc: NDArray[np.uint8],
        lower: NDArray[np.int32],
        fold: NDArray[np.int32],
        nfd_start: NDArray[np.uint16],
        nfd_length: NDArray[np.uint8],
        nfd: NDArray[np.uint32],
        pairs: NDArray[np.uint64],
        composed: NDArray[np.uint32],
    ) -> None: ...

def normalize(tables: Tables, text: bytes | NDArray[np.uint8], composed: bool) -> bytes: ...
