from array import array
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Ids: TypeAlias = array[int] | NDArray[np.uint32]

class PairMerges:
    def __init__(
        self,
        left: _Ids,
        right: _Ids,
        merged: _Ids,
        byte_ids: _Ids,
    ) -> None: ...
