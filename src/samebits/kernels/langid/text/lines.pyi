import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.text.unicode import Tables

def json_lines(
    text: NDArray[np.uint8],
    text_starts: NDArray[np.int64],
    text_stops: NDArray[np.int64],
    label: NDArray[np.uint8],
    label_starts: NDArray[np.int64],
    label_stops: NDArray[np.int64],
    rows: NDArray[np.int64],
    before: bytes,
    between: bytes,
) -> NDArray[np.uint8]: ...
def label_lines(
    tables: Tables,
    text: NDArray[np.uint8],
    text_starts: NDArray[np.int64],
    text_stops: NDArray[np.int64],
    label: NDArray[np.uint8],
    label_starts: NDArray[np.int64],
    label_stops: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> NDArray[np.uint8]: ...
