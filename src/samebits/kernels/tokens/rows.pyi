from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_Token = TypeVar("_Token", np.uint8, np.uint16, np.uint32)
_Ints: TypeAlias = NDArray[np.int64]

def join_pieces(
    ids: NDArray[np.uint32], starts: _Ints, stops: _Ints, pieces: _Ints, out: NDArray[_Token], lengths: _Ints
) -> int: ...
def copy_ranges(stream: NDArray[_Token], starts: _Ints, stops: _Ints, out: NDArray[_Token]) -> int: ...
def place_rows(
    stream: NDArray[_Token], starts: _Ints, stops: _Ints, out: NDArray[_Token], pad: int
) -> None: ...
def flatten_rows(
    rows: NDArray[np.uint32], lengths: _Ints, places: _Ints, out: NDArray[np.uint32]
) -> None: ...
