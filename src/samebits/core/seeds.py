"""Randomness by address: a generator is named by what it is for, never by who runs it.

``rng_for(seed, "lm", step, shard)`` gives the same stream in every worker, in every order, after every resume, so no
generator state is ever saved, shared or advanced across shards.
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["key_for", "rng_for"]


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
