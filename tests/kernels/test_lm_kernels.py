"""The kernels of the language model in float: against double precision, and at the ends of what they are given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.kernels.lm.attention import attention_backward, attention_forward
from samebits.kernels.lm.gelu import gelu_forward

Array = NDArray[Any]
HEADS, SIZE, ROWS = 3, 16, 2


def attend(dtype: Any, block: int, loud: float) -> tuple[Array, Array, Array]:
    """Return probabilities, outputs and gradient of seeded heads whose scores grow with ``loud``."""
    rng = np.random.default_rng(block)
    dim, width = HEADS * SIZE, -(-block // 16) * 16
    qkv = (rng.standard_normal((ROWS * block, 3 * dim)) * loud).astype(np.float32).astype(dtype)
    grad_out = rng.standard_normal((ROWS * block, dim)).astype(np.float32).astype(dtype)
    probs = np.zeros((ROWS * HEADS, block, width), dtype)
    out, grad = np.full((ROWS * block, dim), np.nan, dtype), np.full((ROWS * block, 3 * dim), np.nan, dtype)
    attention_forward(qkv, HEADS, SIZE**-0.5, probs, out)
    attention_backward(grad_out, qkv, HEADS, SIZE**-0.5, probs, grad)
    return probs, out, grad


@pytest.mark.parametrize("loud", [0.5, 3.0])
@pytest.mark.parametrize("block", [1, 2, 7, 8, 9, 16, 17, 31, 64])
def test_attention_in_float_is_attention_in_double_to_seven_digits(block: int, loud: float) -> None:
    for single, double in zip(attend(np.float32, block, loud), attend(np.float64, block, loud), strict=True):
        assert float(np.abs(single - double).max()) < 2e-6 * max(1.0, float(np.abs(double).max()))


@pytest.mark.parametrize("block", [1, 5, 8, 24, 64])
def test_no_position_looks_ahead_and_every_row_of_probabilities_adds_up(block: int) -> None:
    probs, _, _ = attend(np.float32, block, 2.0)
    ahead = np.triu(np.ones((block, probs.shape[2]), dtype=bool), 1)
    assert not probs[:, ahead].any()
    assert float(np.abs(probs.sum(2, dtype=np.float64) - 1).max()) < 1e-6


def test_scores_far_apart_neither_overflow_nor_lose_the_winner() -> None:
    probs, out, grad = attend(np.float32, 32, 60.0)
    assert np.isfinite(out).all()
    assert np.isfinite(grad).all()
    assert float(probs.max(2).min()) > 0.3


@pytest.mark.parametrize("num", [1, 7, 8, 9, 4001])
def test_gelu_and_its_slope_are_right_to_six_digits_for_any_number_of_numbers(num: int) -> None:
    x = np.linspace(-12, 12, num, dtype=np.float32).reshape(1, -1)
    out, slope = np.empty_like(x), np.empty_like(x)
    gelu_forward(x, out, slope)
    for value, found, found_slope in zip(x[0].tolist(), out[0].tolist(), slope[0].tolist(), strict=True):
        share = 0.5 * math.erfc(-value / math.sqrt(2))
        density = math.exp(-value * value / 2) / math.sqrt(2 * math.pi)
        assert abs(found - value * share) < 1e-6
        assert abs(found_slope - (share + value * density)) < 1e-6


def test_gelu_may_leave_the_slope_in_place_of_its_input() -> None:
    x = np.linspace(-3, 3, 50, dtype=np.float32).reshape(5, 10)
    out, slope = np.empty_like(x), np.empty_like(x)
    gelu_forward(x, out, slope)
    again = np.empty_like(x)
    gelu_forward(x, again, x)
    assert (again == out).all()
    assert (x == slope).all()
