from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Polynomials = Sequence[tuple[float, float, float]]

def adamw(
    params: Floats,
    grads: Floats,
    first: Floats,
    second: Floats,
    *,
    scale: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    step: int,
) -> None: ...
def sgd(
    params: Floats,
    grads: Floats,
    first: Floats,
    *,
    scale: float,
    lr: float,
    momentum: float,
    decay: float,
    nesterov: bool,
) -> None: ...
def orthogonalise(matrix: Floats, polynomials: Polynomials) -> Floats: ...
def muon_work(rows: int, cols: int) -> int: ...
def muon(
    params: Floats,
    grads: Floats,
    momentum: Floats,
    *,
    scale: float,
    lr: float,
    inertia: float,
    decay: float,
    nesterov: bool,
    polynomials: Polynomials,
    work: Floats,
) -> None: ...
