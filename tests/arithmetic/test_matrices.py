"""Products and sums: one order, which can be seen from outside, whatever computes them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from samebits import arithmetic
from samebits.arithmetic import matrices
from samebits.errors import ConfigError

Floats = np.ndarray[Any, np.dtype[np.float32]]
SHAPES = [(1, 1, 1), (14, 32, 16), (128, 128, 128), (130, 65, 17), (7, 45, 33), (3, 2, 500), (33, 31, 1)]
GOLDEN = "1e8b494aab9e19c8f934502d2e9788db"


def numbers(rows: int, cols: int, salt: int = 0) -> Floats:
    """Numbers of many sizes, exact in binary, made of whole numbers alone."""
    mixed = (np.arange(rows * cols, dtype=np.uint64) + np.uint64(salt * 977)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)).astype(np.float32) - 2**23).reshape(rows, cols) * np.float32(2.0**-23)


@pytest.mark.parametrize("isa", arithmetic.usable())
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_a_product_is_right_in_every_form(isa: str, m: int, n: int, k: int) -> None:
    arithmetic.use(isa)
    a, b = numbers(m, k), numbers(k, n, 1)
    found = matrices.product(a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(found - exact).max() <= 2.0**-24 * k * (np.abs(a) @ np.abs(b)).max()
    turned_a, turned_b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    assert np.array_equal(matrices.product(turned_a, b, transpose_a=True), found)
    assert np.array_equal(matrices.product(a, turned_b, transpose_b=True), found)
    assert np.array_equal(matrices.product(turned_a.T, turned_b.T), found)
    assert np.array_equal(matrices.product(a[::1], b[:, ::-1]), found[:, ::-1])


@pytest.mark.parametrize("isa", arithmetic.usable())
def test_the_bits_are_those_of_every_other_machine(isa: str) -> None:
    arithmetic.use(isa)
    hasher = hashlib.sha256()
    for m, n, k in SHAPES:
        hasher.update(matrices.product(numbers(m, k), numbers(k, n, 1)).astype("<f4").tobytes())
    x = numbers(1, 100_003)
    hasher.update(
        np.array(
            [matrices.total(x), matrices.sum_squares(x), matrices.total(x.astype(np.float64) / 3)], "<f8"
        ).tobytes()
    )
    assert hasher.hexdigest()[:32] == GOLDEN


@pytest.mark.parametrize("isa", arithmetic.usable())
@pytest.mark.parametrize("k", [5, 40, 200])
def test_an_element_is_one_ascending_chain(isa: str, k: int) -> None:
    """A large number comes and goes again: what was added before its end is lost, what comes after is kept."""
    arithmetic.use(isa)
    for start in range(k):
        for stop in range(start + 1, k):
            a = np.ones((1, k), np.float32)
            a[0, start], a[0, stop] = 2.0**30, -(2.0**30)
            assert matrices.product(a, np.ones((k, 1), np.float32))[0, 0] == k - 1 - stop
        if k > 40:
            break


def test_a_product_is_fused() -> None:
    a = np.array([[1.0 + 2.0**-12, -1.0]], np.float32)
    b = np.array([[1.0 + 2.0**-12], [1.0 + 2.0**-11]], np.float32)
    # the square is 1 + 2^-11 + 2^-24; unfused, its last bit would be lost before the subtraction
    assert matrices.product(a[:, ::-1], b[::-1])[0, 0] == 2.0**-24


def test_a_sum_has_eight_running_sums() -> None:
    x = np.zeros(16)
    x[0], x[1], x[8] = 1.0, 1e17, -1.0
    assert matrices.total(x) == 1e17  # 1 meets -1 in the first running sum
    x[8], x[9] = 0.0, -1e17
    assert matrices.total(x) == 1.0
    assert matrices.total(np.zeros(0)) == 0.0


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be multiplied"):
        matrices.product(numbers(2, 3), numbers(2, 3))
    with pytest.raises(ValueError, match="takes matrices"):
        matrices.product(numbers(2, 3)[0], numbers(2, 3))
    with pytest.raises(ValueError, match="and out is"):
        matrices.product(numbers(2, 3), numbers(3, 2), out=numbers(3, 3))
    assert matrices.product(numbers(2, 0), numbers(0, 3)).tolist() == [[0.0] * 3] * 2


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ConfigError, match="'mmx' cannot be used here") as caught:
        arithmetic.use("mmx")
    assert "scalar" in str(caught.value.hint)
