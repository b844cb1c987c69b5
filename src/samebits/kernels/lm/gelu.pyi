from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def gelu_forward(x: Array, out: Array, slope: Array) -> None: ...
