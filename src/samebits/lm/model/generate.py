"""Text from a model, token by token: keys and values of earlier tokens are kept, so a token costs one column.

Logits are those of the whole forward pass to the last bit. When the context is full, the last half of it is read again from
its start, for learned positions and for rotated ones alike: angles beyond the trained length would be new to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.recording.ops import PANEL
from samebits.lm.model.arch import Architecture
from samebits.lm.model.definition import record
from samebits.lm.text.sampling import Draw

__all__ = ["Cache", "generate"]

Weights = Mapping[str, NDArray[np.float32]]


class Cache:
    """Keys and values of one sequence."""

    def __init__(self, arch: Architecture, params: Weights) -> None:
        self.arch = arch
        self.length = 0
        self._program = record(arch, params, cached=True)

    def forget(self) -> None:
        """Begin a new sequence."""
        self.length = 0

    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Take more tokens and return the logits after the last one.

        Raises:
            ValueError: if they do not fit into the context; ``generate`` starts it anew before that.
        """
        if not self.length < self.length + len(ids) <= self.arch.block:
            raise ValueError(f"{len(ids)} tokens after {self.length} in a context of {self.arch.block}")
        given = np.array(ids, np.int64)
        for start in range(0, len(given), PANEL):
            found = self._program.logits(given[start : start + PANEL], start=self.length)
            self.length += min(PANEL, len(given) - start)
        last: NDArray[np.float32] = found[-1]
        return last


def generate(
    arch: Architecture, params: Weights, prompt: Sequence[int], *, tokens: int, draw: Draw
) -> Iterator[int]:
    """Yield new ids one by one.

    Args:
        arch: The model's shape.
        params: Its weights.
        prompt: Ids to go on from; the last ``block`` of them are read. An empty prompt starts from id 0.
        tokens: How many to make.
        draw: How to choose.
    """
    ids = list(prompt) or [0]
    cache = Cache(arch, params)
    fresh: Sequence[int] = ids[-arch.block :]
    for _ in range(tokens):
        if cache.length + len(fresh) > arch.block:
            cache.forget()
            fresh = ids[-max(1, arch.block // 2) :]
        token = draw.next(cache.read(fresh), len(ids))
        ids.append(token)
        fresh = [token]
        yield token
