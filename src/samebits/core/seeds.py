"""Randomness by address: a generator is named by what it is for, never by who runs it.

``rng_for(seed, "lm", step, shard)`` gives the same stream in every worker, in every order, after every resume, so no
generator state is ever saved, shared or advanced across shards.

NumPy may change what ``integers`` or ``permutation`` make of a stream from version to version. What decides which examples a
training run sees is drawn from the raw words instead (``draw_below``, ``draw_order``, ``draw_unit``), by rules written here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_below", "draw_order", "draw_unit", "key_for", "rng_for"]


def key_for(seed: int, *address: str | int) -> int:
    """Return a 128-bit key for an address.

    Each piece is written with its type and length, so ``("ab", "c")`` and ``("a", "bc")`` are two addresses.

    >>> key_for(0, "ab", "c") == key_for(0, "a", "bc")
    False
    """
    hasher = hashlib.sha256()
    for piece in (seed, *address):
        text = f"{type(piece).__name__}:{piece}".encode()
        hasher.update(len(text).to_bytes(8, "little") + text)
    return int.from_bytes(hasher.digest()[:16], "little")


def rng_for(seed: int, *address: str | int) -> np.random.Generator:
    """Return a fresh generator for an address.

    Philox is counter-based: its raw stream is fixed by its definition, not by a NumPy version.

    >>> rng_for(7, "shuffle", 3).integers(1000) == rng_for(7, "shuffle", 3).integers(1000)
    np.True_
    """
    return np.random.Generator(np.random.Philox(key=key_for(seed, *address)))


def draw_below(rng: np.random.Generator, stop: int, size: int) -> NDArray[np.int64]:
    """Draw whole numbers from 0 to ``stop - 1``, all equally likely, by Lemire's rule.

    Of the product of a random word and ``stop`` the upper half is the number; the few words whose lower half would favour some
    numbers are thrown away. Words have 32 bits, lower halves of the raw ones first, or 64 where ``stop`` needs them. These are the
    numbers that ``Generator.integers`` of NumPy 2.4 gives, whatever a later version does.

    >>> draw_below(rng_for(7, "windows"), 1000, 3).tolist()
    [259, 365, 257]
    """
    bits = 32 if stop <= 1 << 32 else 64
    words = _words(rng, bits)
    found = np.zeros(size, np.int64)
    for index in range(size if stop > 1 else 0):
        product = next(words) * stop
        while product % (1 << bits) < ((1 << bits) - stop) % stop:
            product = next(words) * stop
        found[index] = product >> bits
    return found


def _words(rng: np.random.Generator, bits: int) -> Iterator[int]:
    """Yield random words; of 32 bits two from each raw one."""
    while True:
        word = int(rng.bit_generator.random_raw())
        yield from (word,) if bits == 64 else (word & 0xFFFFFFFF, word >> 32)


def draw_order(rng: np.random.Generator, num: int) -> NDArray[np.int64]:
    """Draw an order of ``num`` things: each gets a 64-bit word, and they are sorted by it.

    >>> draw_order(rng_for(7, "order"), 5).tolist()
    [3, 2, 1, 4, 0]
    """
    return np.argsort(rng.bit_generator.random_raw(num), kind="stable").astype(np.int64)


def draw_unit(rng: np.random.Generator) -> float:
    """Draw a number from 0 to below 1: the upper 53 bits of a word.

    >>> 0 <= draw_unit(rng_for(7, "sample")) < 1
    True
    """
    return (int(rng.bit_generator.random_raw()) >> 11) / (1 << 53)
