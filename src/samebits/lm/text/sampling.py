"""Choosing the next token: temperature, top-k, top-p, and a draw that depends on (seed, position) alone.

Everything after the logits is float64 and samebits' own arithmetic, so a seed gives the same text on every CPU. Candidates are
sorted by probability and then by id, so equal ones have an order; the draw is the inverse of the cumulative sum, added up from
the likeliest candidate on, at one uniform number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.functions import exp
from samebits.arithmetic.matrices import total
from samebits.core.seeds import draw_unit, rng_for
from samebits.errors import ConfigError

__all__ = ["Draw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How the next token is chosen.

    Attributes:
        temperature: 0 takes the likeliest token, 1 draws as the model says, more is bolder.
        top_k: Keep this many candidates; 0 keeps all.
        top_p: Keep the likeliest candidates that together have this probability.
        seed: Root of the draws.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise ConfigError(f"temperature is {self.temperature}", hint="use 0 or more")
        if self.top_k < 0:
            raise ConfigError(f"top-k is {self.top_k}", hint="use 0 for all candidates, or more")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top-p is {self.top_p}", hint="use a value above 0, up to 1")

    def candidates(self, logits: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the kept ids, likeliest first, and their probabilities.

        >>> ids, p = Draw(temperature=1.0, top_k=2).candidates(np.array([0.0, 1.0, 1.0]))
        >>> ids.tolist(), p.tolist()
        ([1, 2], [0.5, 0.5])
        """
        scores = np.asarray(logits, np.float64)
        order = np.lexsort((np.arange(len(scores)), -scores))  # by score, then by id
        if self.temperature == 0:
            return order[:1].astype(np.int64), np.ones(1)
        order = order[: self.top_k or None]
        weights = exp((scores[order] - scores[order[0]]) / self.temperature)
        weights /= total(weights)
        if self.top_p < 1:
            kept = int(np.searchsorted(np.add.accumulate(weights), self.top_p)) + 1
            order, weights = order[:kept], weights[:kept] / total(weights[:kept])
        return order.astype(np.int64), weights

    def next(self, logits: NDArray[Any], position: int) -> int:
        """Choose one token; ``position`` counts tokens from the start of the prompt."""
        ids, weights = self.candidates(logits)
        if len(ids) == 1:
            return int(ids[0])
        at, sums = draw_unit(rng_for(self.seed, "lm", "sample", position)), np.add.accumulate(weights)
        found = int(np.searchsorted(sums, at * sums[-1], side="right"))
        return int(ids[min(found, len(ids) - 1)])
