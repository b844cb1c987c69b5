"""How the parameters of a ``Network`` begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.functions import normal

__all__ = ["First", "first_values", "matrix", "table", "zeros"]


@dataclass(frozen=True, slots=True)
class First:
    """How a parameter begins: normal numbers of a spread, plus a level; ``kind`` is its group for the optimizer."""

    shape: tuple[int, ...]
    spread: float
    level: float = 0.0
    kind: str = "matrix"


def matrix(*shape: int, gain: float = 1.0) -> First:
    """Return weights (outputs, inputs) that keep the size of what they multiply, times ``gain``."""
    return First(shape, gain / float(np.sqrt(shape[-1])))


def table(names: int, width: int, *, spread: float = 0.1) -> First:
    """Return an embedding: one row for each of ``names`` ids."""
    return First((names, width), spread, kind="embedding")


def zeros(*shape: int, level: float = 0.0) -> First:
    """Return a vector that begins at 0, or at ``level``: a bias."""
    return First(shape, 0.0, level, kind="vector")


def first_values(params: Mapping[str, First], rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    """Draw the first values of parameters, in their order."""
    return {
        name: (normal(rng, first.shape) * first.spread + first.level).astype(np.float32)
        for name, first in params.items()
    }
