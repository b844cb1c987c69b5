from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def attention_forward(qkv: Array, num_heads: int, scale: float, probs: Array, out: Array) -> None: ...
def attention_backward(
    grad_out: Array, qkv: Array, num_heads: int, scale: float, probs: Array, grad: Array
) -> None: ...
