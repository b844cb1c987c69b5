from typing import Final

import numpy as np
from numpy.typing import NDArray

FINE: Final = 0
WRONG_COUNT: Final = 1
TEXT_AFTER_QUOTE: Final = 2
OPEN_QUOTE: Final = 3

def scan_records(
    data: bytes | memoryview | NDArray[np.uint8], start: int, stop: int, state: int, delimiter: int
) -> tuple[int, int, int]: ...
def split_records(
    data: bytes | NDArray[np.uint8], start: int, stop: int, delimiter: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def extract_fields(
    data: bytearray | NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    delimiter: int,
    column_of: NDArray[np.int64],
    num_columns: int,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
