from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def rms_forward(x: Array, out: Array, scale: Array, eps: float) -> None: ...
def rms_backward(grad_out: Array, out: Array, scale: Array, grad_x: Array) -> None: ...
def heads_forward(
    qkv: Array, scale: Array, cos: Array, sin: Array, num_heads: int, norm: bool, eps: float
) -> None: ...
def heads_backward(
    grad: Array, qkv: Array, scale: Array, cos: Array, sin: Array, num_heads: int, norm: bool
) -> None: ...
