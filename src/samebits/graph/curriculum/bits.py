"""Whole numbers drawn without bias from raw Philox words.

``random.choice`` and ``Generator.integers`` may change their algorithm between versions, and ``state % n`` favours small
numbers. Here a word that would be unfair is thrown away, so the draws are fixed by the definition of Philox alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from samebits.core.seeds import rng_for

__all__ = ["Bits"]

T = TypeVar("T")
WORD = 1 << 64
REFILL = 64  # words fetched at a time; an example of level 2 uses about 40


class Bits:
    """A stream of fair draws, named by its address.

    >>> bits = Bits(1, "doc")
    >>> [bits.below(6) for _ in range(5)]
    [0, 0, 1, 5, 2]
    """

    def __init__(self, seed: int, *address: str | int) -> None:
        self._source = rng_for(seed, *address).bit_generator
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """Return a number from 0 to n - 1, each equally likely."""
        fair = WORD - WORD % n
        while True:
            if not self._words:
                self._words = self._source.random_raw(REFILL).tolist()[::-1]
            word = self._words.pop()
            if word < fair:
                return word % n

    def percent(self, share: int) -> bool:
        """Return True in ``share`` of 100 cases."""
        return self.below(100) < share

    def choice(self, items: Sequence[T]) -> T:
        """Return one item, each equally likely."""
        return items[self.below(len(items))]

    def weighted(self, weights: Sequence[int]) -> int:
        """Return an index, each as likely as its weight says."""
        left = self.below(sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        raise AssertionError("below() stays below the sum")
