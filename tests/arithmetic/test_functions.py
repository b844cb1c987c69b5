"""The functions are right to a few units in the last place, and their bits are those committed here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samebits.arithmetic import functions

# What every machine, compiler and NumPy must give; inputs are exact in binary.
GOLDEN = {
    "exp": "8103a906f42f6358f6eef8dc399bda00",
    "log": "fd3963160b5ca80f82766ea89718a422",
    "sin": "14fcb9de426f1a331be202dd921681af",
    "cos": "190dbdfe69d5bc9c0f267a3400f8eeb2",
    "tanh": "38cd9101d76df12d17039c0b3eee4657",
    "erf": "f6bcd7ba3e6e194ef80d0c74cb7aed72",
    "pow": "278bf84c7ed4a4d96f9de38b0dad19bd",
    "normal": "2131319aa7f22726e8838a44d9cfe819",
}
RANGES: dict[str, tuple[float, float, float]] = {  # from, to, most units in the last place
    "exp": (-700.0, 700.0, 1.5),
    "log": (2.0**-40, 8.0, 1.5),
    "sin": (-20.0, 20.0, 1.5),
    "cos": (-20.0, 20.0, 1.5),
    "tanh": (-4.0, 4.0, 3.5),
    "erf": (-7.0, 7.0, 5.0),
}


def points(name: str, num: int = 4096) -> np.ndarray[Any, np.dtype[np.float64]]:
    low, high, _ = RANGES[name]
    return low + (high - low) * (np.arange(num) + 0.5) / num


def values(name: str) -> bytes:
    if name == "pow":
        found = functions.power(np.arange(1, 257) / 128, (np.arange(256) - 128)[:, None] / 8)
        return bytes(found.astype("<f8").tobytes())
    if name == "normal":
        rng = np.random.Generator(np.random.Philox(key=7))
        return functions.normal(rng, (33, 31)).astype("<f8").tobytes()
    function: Callable[[Any], Any] = getattr(functions, name)
    single = function(points(name).astype(np.float32))
    assert single.dtype == np.float32
    return bytes(function(points(name)).astype("<f8").tobytes() + single.astype("<f4").tobytes())


@pytest.mark.parametrize("name", GOLDEN)
def test_the_bits_are_those_of_every_other_machine(name: str) -> None:
    with np.errstate(over="ignore"):  # e^700 in single precision
        found = values(name)
    assert hashlib.sha256(found).hexdigest()[:32] == GOLDEN[name]


@pytest.mark.parametrize("name", RANGES)
def test_a_function_is_right_to_a_few_units_in_the_last_place(name: str) -> None:
    function: Callable[[Any], Any] = getattr(functions, name)
    x = points(name)
    wrong = [
        abs(found - getattr(math, name)(at)) / math.ulp(found)
        for at, found in zip(x, function(x), strict=True)
    ]
    assert max(wrong) <= RANGES[name][2]


def test_single_precision_is_the_rounded_double() -> None:
    x = points("exp").astype(np.float32)[1800:2200]
    assert functions.exp(x).tolist() == functions.exp(x.astype(np.float64)).astype(np.float32).tolist()


def test_numbers_and_shapes_go_through() -> None:
    assert functions.exp(0.0) == 1.0
    assert isinstance(functions.cos(0.0), float)
    assert functions.log(np.ones((2, 3))).shape == (2, 3)
    assert functions.exp(np.ones((4, 4), np.float32).T[::2]).shape == (2, 4)
    assert functions.power(2.0, 10) == 1024.0
    assert functions.exp(np.zeros(0)).tolist() == []


def test_the_ends_of_the_range() -> None:
    assert functions.exp(-800.0) == 0.0
    assert functions.exp(800.0) == math.inf
    assert 0.0 < functions.exp(-745.0) < 1e-323
    assert functions.log(0.0) == -math.inf
    assert math.isnan(functions.log(-1.0))
    assert math.isnan(functions.exp(math.nan))
    assert functions.log(5e-324) == pytest.approx(-744.4400719213812, rel=1e-15)
    assert (functions.tanh(30.0), functions.erf(-9.0)) == (1.0, -1.0)


def test_powers_of_whole_exponents() -> None:
    assert functions.power(3.0, -2.0) == 1.0 / 9.0
    assert functions.power(-2.0, 3.0) == -8.0
    assert functions.power(0.99, 1000) == pytest.approx(0.99**1000, rel=1e-13)
    assert functions.power(10000.0, -0.375) == pytest.approx(10000.0**-0.375, rel=1e-15)


def test_an_angle_beyond_a_million_is_refused() -> None:
    with pytest.raises(ValueError, match="an angle is beyond"):
        functions.sin(np.array([1.0, 2e6]))


def test_normal_numbers_are_normal() -> None:
    found = functions.normal(np.random.Generator(np.random.Philox(key=1)), 400_001)
    assert found.shape == (400_001,)
    assert abs(float(found.mean())) < 0.006
    assert abs(float(found.std()) - 1) < 0.005
    assert abs(float((found**4).mean()) - 3) < 0.06
    below = float((found < 1.0).mean())
    assert abs(below - 0.8413447) < 0.003
