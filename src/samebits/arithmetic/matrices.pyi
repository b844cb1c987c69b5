import numpy as np
from numpy.typing import ArrayLike, NDArray

def product(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]: ...
def total(x: ArrayLike) -> float: ...
def sum_squares(x: ArrayLike) -> float: ...
