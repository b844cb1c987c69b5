"""Tasks of the engine benchmark, in a module that worker processes can import."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebits.core.plan import Shard

__all__ = ["LargePart", "Nothing", "Sleep"]


@dataclass(frozen=True, slots=True)
class Nothing:
    """Does next to nothing, so that all the time is the engine's."""

    def __call__(self, shard: Shard, state: Any, /) -> int:
        """Return a small part."""
        return shard.index


@dataclass(frozen=True, slots=True)
class Sleep:
    """Takes so many seconds without a core, so that all the rest is the engine's."""

    seconds: float

    def __call__(self, shard: Shard, state: Any, /) -> int:
        """Return a small part."""
        time.sleep(self.seconds)
        return shard.index


@dataclass(frozen=True, slots=True)
class LargePart:
    """Makes a part of ``num_bytes``; the first shard takes ``first_seconds``, so that all others wait for it."""

    num_bytes: int
    first_seconds: float

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        """Return the part."""
        if shard.index == 0:
            time.sleep(self.first_seconds)
        return np.full(self.num_bytes, shard.index % 251, dtype=np.uint8)
