"""Randomness by address: the same everywhere, for ever."""

from __future__ import annotations

import pytest

from samebits.core.seeds import key_for, rng_for


def test_an_address_has_one_stream_and_its_raw_bits_never_change() -> None:
    """Golden values: a change here would change every result that uses randomness."""
    assert rng_for(7, "lm", 3, 1).bit_generator.random_raw(2).tolist() == [
        10522775546408843196,
        4320364260892539762,
    ]


@pytest.mark.parametrize(
    "other", [(8, "lm", 3, 1), (7, "graph", 3, 1), (7, "lm", 4, 1), (7, "lm", 3, 2), (7, "lm", 3)]
)
def test_another_address_has_another_stream(other: tuple[int, str, int]) -> None:
    assert key_for(*other) != key_for(7, "lm", 3, 1)


def test_numbers_and_their_spellings_are_different_addresses() -> None:
    assert key_for(0, 1) != key_for(0, "1")
    assert key_for(0, "a", "b") != key_for(0, "ab")
