"""AdamW, SGD and Muon: what the formulas say, and the same bits for every instruction set."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from samebits import arithmetic
from samebits.arithmetic import updates

Floats = np.ndarray[Any, np.dtype[np.float32]]
POLYNOMIALS = ((8.2987, -24.4305, 18.0903), (3.91522, -2.92113, 0.559223), (3.1746, -2.38043, 0.497826), (2.18946, -1.56722, 0.407887))  # fmt: skip
ADAMW: dict[str, Any] = {"scale": 0.5, "lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.1}
SGD: dict[str, Any] = {"scale": 1.0, "lr": 0.1, "momentum": 0.9, "decay": 0.01, "nesterov": True}
MUON: dict[str, Any] = {
    "scale": 1.0,
    "lr": 0.02,
    "inertia": 0.95,
    "decay": 0.01,
    "nesterov": True,
    "polynomials": POLYNOMIALS,
}
GOLDEN = "66decbee944cb3d136fd5e2c05b0dcd0"


def numbers(num: int, salt: int) -> Floats:
    mixed = (np.arange(num, dtype=np.uint64) + np.uint64(salt * 977)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)).astype(np.float32) - 2**23) * np.float32(2.0**-23)


def several_steps(num: int = 1003, rows: int = 48) -> bytes:
    """Three steps of everything; the matrix is tall, wide and square in turn."""
    found = b""
    p, m, v = numbers(num, 0), np.zeros(num, np.float32), np.zeros(num, np.float32)
    for step in (1, 2, 3):
        updates.adamw(p, numbers(num, step), m, v, step=step, **ADAMW)
        updates.sgd(m, numbers(num, 10 + step), v, **SGD)
    found += p.tobytes() + m.tobytes() + v.tobytes()
    for cols in (rows, 3 * rows + 5, rows // 3, rows - 7):
        matrix, momentum = numbers(rows * cols, 5).reshape(rows, cols), np.zeros((rows, cols), np.float32)
        work = np.empty(updates.muon_work(rows, cols), np.float32)
        for step in (1, 2):
            updates.muon(matrix, numbers(rows * cols, step).reshape(rows, cols), momentum, work=work, **MUON)
        found += matrix.tobytes() + momentum.tobytes()
    return found


@pytest.mark.parametrize("isa", arithmetic.usable())
def test_the_bits_are_those_of_every_other_machine(isa: str) -> None:
    arithmetic.use(isa)
    assert hashlib.sha256(several_steps()).hexdigest()[:32] == GOLDEN


def test_adamw_is_the_formula_in_double_rounded() -> None:
    p, g, m, v = (numbers(500, salt) for salt in range(4))
    v = np.abs(v)
    grad = g.astype(np.float64) * 0.5
    first = m + 0.1 * (grad - m)
    second = 0.99 * v + 0.01 * grad * grad
    wanted = p * (1 - 1e-4) - 1e-3 / (1 - 0.9**7) * first / (np.sqrt(second) / np.sqrt(1 - 0.99**7) + 1e-8)
    updates.adamw(p, g, m, v, step=7, **ADAMW)
    assert np.abs(p - wanted).max() < 2e-7
    assert np.abs(m - first).max() < 2e-7


def test_a_slice_gives_the_bits_of_the_whole() -> None:
    whole = [numbers(1000, salt) for salt in range(3)]
    pieces = [part.copy() for part in whole]
    updates.sgd(*whole, **SGD)
    for start, stop in ((0, 13), (13, 600), (600, 1000)):
        updates.sgd(*(part[start:stop] for part in pieces), **SGD)
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


@pytest.mark.parametrize("shape", [(64, 64), (256, 64), (64, 256), (96, 64), (64, 96), (1, 5), (5, 1)])
def test_a_direction_has_the_same_singular_vectors_and_values_near_one(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    found = updates.orthogonalise(x, POLYNOMIALS)
    left, _, right = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    inside = left.T @ found @ right.T
    values = np.diag(inside)
    assert np.abs(inside - np.diag(values)).max() < 1e-3
    assert values.max() < 1.1
    if shape[0] != shape[1]:  # a square Gaussian matrix has singular values near 0, which stay small
        assert values.min() > 0.9


def test_a_gradient_of_zero_stays_zero() -> None:
    assert not updates.orthogonalise(np.zeros((8, 4), np.float32), POLYNOMIALS).any()


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="not as many of each"):
        updates.sgd(numbers(3, 0), numbers(4, 0), numbers(3, 0), **SGD)
    with pytest.raises(ValueError, match="scratch memory"):
        updates.muon(*(numbers(4, 0).reshape(2, 2) for _ in range(3)), work=numbers(1, 0), **MUON)
