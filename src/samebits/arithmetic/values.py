"""What the operations of a ``Network`` make: activations, and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from samebits.arithmetic.network import Network

__all__ = ["Activation", "Loss"]

Floats = NDArray[np.float32]


class Activation:
    """What an operation made: ``data`` is (panels, features, 32). ``a + b`` and ``a * b`` work element by element."""

    __slots__ = ("data", "grad", "needs_grad", "network")

    def __init__(self, network: Network, data: Floats, *, needs_grad: bool = True) -> None:
        self.network, self.data, self.needs_grad = network, data, needs_grad
        self.grad: Floats | None = None

    @property
    def features(self) -> int:
        """Features of a row."""
        return int(self.data.shape[1])

    def __add__(self, other: Activation) -> Activation:
        return self.network.add(self, other)

    def __mul__(self, other: Activation) -> Activation:
        return self.network.multiply(self, other)


@dataclass(frozen=True, slots=True)
class Loss:
    """A number to be made small, and where its gradient begins; losses can be added."""

    number: float
    begins: tuple[tuple[Activation, Floats], ...]

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.number + other.number, self.begins + other.begins)
