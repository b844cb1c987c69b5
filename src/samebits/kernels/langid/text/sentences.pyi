import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.text.unicode import Tables

def split_sentences(
    tables: Tables, buffer: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def split_labels(
    buffer: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], prefix: bytes
) -> NDArray[np.int64]: ...
