"""Which windows a step trains on, and which the validation looks at: by (seed, step), and all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import draw_below, rng_for
from samebits.errors import InputError
from samebits.lm.text.sources import Tokens, TokenSource

__all__ = ["VAL_ROWS", "Batches", "check_lengths"]

VAL_ROWS = 64  # windows of a validation shard; fixed, so that no setting of a run moves a sum


class Batches:
    """Windows of ``block`` inputs and their targets.

    The rows of a step are drawn at once from a generator named by (seed, step), and a shard takes its range of them: the
    shard that a window falls into is the only thing that the number of shards decides.
    """

    def __init__(self, tokens: Tokens, *, block: int, batch: int, seed: int) -> None:
        self.tokens, self.block, self.batch, self.seed = tokens, block, batch, seed
        self._drawn: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, np.int64))
        self._steps = np.arange(block + 1)

    def starts(self, step: int) -> NDArray[np.int64]:
        """Return where the windows of a step begin."""
        if self._drawn[0] != step:
            last = len(self.tokens.train) - self.block
            self._drawn = (step, draw_below(rng_for(self.seed, "lm", "batch", step), last, self.batch))
        return self._drawn[1]

    def shard(self, step: int, g: int, num_shards: int) -> NDArray[np.int64]:
        """Return the windows of one shard, (rows, block + 1)."""
        rows = self.batch // num_shards
        starts = self.starts(step)[g * rows : (g + 1) * rows]
        return _windows(self.tokens.train, starts, self._steps)

    @property
    def num_val_windows(self) -> int:
        """How many windows lie one after the other in the validation part."""
        return (len(self.tokens.val) - 1) // self.block

    def val_windows(self, first: int, last: int) -> NDArray[np.int64]:
        """Return validation windows by number."""
        starts = np.arange(first, min(last, self.num_val_windows), dtype=np.int64) * self.block
        return _windows(self.tokens.val, starts, self._steps)


def _windows(ids: NDArray[Any], starts: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(ids[starts[:, None] + steps], np.int64)


def check_lengths(source: TokenSource, tokens: Tokens, *, block: int, need_val: bool) -> None:
    """Refuse data that cannot fill one window.

    Raises:
        InputError: names the numbers.
    """
    name = ", ".join(source.names)
    if len(tokens.train) <= block:
        raise InputError(
            f"the training part has {len(tokens.train):,} tokens and a window needs {block + 1}",
            path=name,
            hint="give a longer text, or a smaller --block",
        )
    if need_val and len(tokens.val) <= block:
        raise InputError(
            f"the validation part has {len(tokens.val):,} tokens and a window needs {block + 1}",
            path=name,
            hint="give a longer text, a larger --val-ratio, or --val-ratio 0 to train without validation",
        )
