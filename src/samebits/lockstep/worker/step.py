"""One training step as one worker does it: compute, reduce, update, with a meeting after each.

1. *Compute*: shard after shard on one math thread, the gradient written to the shard's row.
2. *Reduce*: on this worker's slice of the buffer, the merges of the tree, the mean, and the norm of every chunk.
3. *Update*: everybody adds up the same chunk norms in the same order, clips by the same factor and updates a share.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from samebits.arithmetic.matrices import total
from samebits.core.observing import clock
from samebits.core.seeds import rng_for
from samebits.kernels.lockstep import steps as kernel
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.exchange.rendezvous import Meeting, Share
from samebits.lockstep.exchange.tree import fold, shards_of, slice_of, validation_of
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import CHUNK, Layout
from samebits.lockstep.problem.objective import Floats, Objective, Validated
from samebits.lockstep.problem.optional_methods import tell_changed, tell_step
from samebits.lockstep.worker.optimizers.rule import StepSettings
from samebits.lockstep.worker.optimizers.share import share_of
from samebits.lockstep.worker.optimizers.update import Update

__all__ = ["Outcome", "Stepper", "shard_rng"]

CLIP_TINY = 1e-6


def shard_rng(seed: int, step: int, shard: int) -> np.random.Generator:
    """Return the generator of one shard of one step, whoever computes it."""
    return rng_for(seed, "fit", step, shard)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What everybody knows after a step's reduction."""

    loss: float
    grad_norm: float
    norms_crc: int

    @property
    def finite(self) -> bool:
        """Tell whether an update with it makes sense."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


class Stepper:
    """The parts of a step, for one worker.

    Attributes:
        shards: Shards of this worker where each has its own: of the probe, and of the search for what is not finite.
        update_seconds: Wall time this step spent in reducing and updating.
    """

    def __init__(
        self,
        objective: Objective,
        config: FitConfig,
        layout: Layout,
        state: State,
        *,
        worker: int,
        workers: int,
        meeting: Meeting,
    ) -> None:
        self.objective = objective
        self.config = config
        self.state = state
        self.worker, self.workers = worker, workers
        self.meeting = meeting
        self.shards = shards_of(worker, workers, config.shards)
        self.update_seconds = 0.0
        self._split = meeting.split(config.shards)
        self._cross = np.array([(merge.left, merge.right) for merge in self._split.cross], np.int64).reshape(
            -1, 2
        )
        self._slice = slice_of(worker, workers, 0, layout.size, CHUNK)
        self._update = Update(config, share_of(config, layout, worker, workers))
        self._layout = layout
        self._grads: dict[int, Mapping[str, Floats]] = {}

    @property
    def at_shard(self) -> int:
        """The shard in hand, for messages; -1 outside of one."""
        return int(self.state.hands[self.worker]) - 1

    def compute_shard(self, step: int, g: int) -> float:
        """Compute one shard into its row; return its loss. If it raises, the shard stays in hand."""
        self.state.hands[self.worker] = g + 1
        if g not in self._grads:
            self._grads[g] = self._layout.views(self.state.rows[g])
        rng = shard_rng(self.config.seed, step, g)
        loss = float(self.objective.shard(step, g, self.config.shards, rng, self._grads[g]))
        self.state.hands[self.worker] = 0
        return loss

    def compute(self, step: int) -> None:
        """Compute shards as long as there are any, and merge what can be merged already."""
        for g in self.meeting.shards(self.config.shards):
            self.state.losses[g] = self.compute_shard(step, g)
            for merge in self._split.local.get(g, ()):
                kernel.add_rows(self.state.rows, merge.left, merge.right, 0, self.state.rows.shape[1])

    def reduce(self) -> None:
        """Finish the tree on this worker's slice, take the mean and the chunk norms."""
        started = clock.seconds()
        start, stop = self._slice
        factor = 1.0 / self.config.shards
        kernel.fold_rows(self.state.rows, self._cross, start, stop, factor, CHUNK, self.state.squares)
        self.update_seconds = clock.seconds() - started

    def outcome(self) -> Outcome:
        """Return loss and norm of the step, the same in every worker; between the second and the third meeting."""
        squares = self.state.squares
        norm = math.sqrt(total(squares))
        loss = fold(self.state.losses.tolist()) / self.config.shards
        return Outcome(loss, norm, zlib.crc32(squares.tobytes()))

    def update(self, step: int, norm: float, rate: float) -> None:
        """Clip and update this worker's share."""
        started = clock.seconds()
        clip = self.config.clip
        scale = clip / (norm + CLIP_TINY) if clip and norm > clip else 1.0
        self._update(self.state, StepSettings(step, scale, rate))
        self.update_seconds += clock.seconds() - started

    def find_bad(self, step: int) -> tuple[int, float]:
        """Say which shard is the lowest with a loss or gradient that is not finite, and its loss.

        The merges have mixed the rows, so every worker computes some of the shards once more: parameters have not changed yet.
        """
        state, num_shards = self.state, self.config.shards
        for g in self.shards:
            state.losses[g] = self.compute_shard(step, g)
            finite = math.isfinite(state.losses[g]) and bool(np.isfinite(state.rows[g]).all())
            state.flags[g] = not finite
        self.meeting.meet(Share.SHARDS)
        bad = np.flatnonzero(state.flags[:num_shards])
        lowest = int(bad[0]) if len(bad) else -1
        return lowest, float(state.losses[lowest])

    def validate(self, step: int) -> float:
        """Return the validation loss after so many steps, the same in every worker: of the average where there is one."""
        if not self.config.average:
            return self._validate(step)
        self._swap()
        loss = self._validate(step)
        self._swap()
        return loss

    def _swap(self) -> None:
        """Let parameters and average change places, in all workers."""
        self._update.swap(self.state)
        self.meeting.meet(Share.PARAMETERS)
        tell_changed(self.objective)

    def _validate(self, step: int) -> float:
        assert isinstance(self.objective, Validated)
        tell_step(self.objective, step)
        state, num_shards = self.state, self.objective.num_validation_shards()
        for i in validation_of(self.worker, self.workers, num_shards):
            state.sums[i], state.weights[i] = self.objective.validation_shard(i)
        self.meeting.meet(Share.VALIDATION)
        total = fold(state.sums[:num_shards].tolist())
        return total / fold(state.weights[:num_shards].tolist())
