"""The update of one worker's share: slices by one rule, whole matrices by another.

Slices are elementwise and matrices have one owner, so the bits do not depend on how many workers share the work. Everything
reads the mean gradient of row 0 and applies the clip itself, so no barrier is needed between clipping and updating.
"""

from __future__ import annotations

import numpy as np

from samebits.arithmetic.updates import muon_work
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.objective import Floats
from samebits.lockstep.worker.optimizers.average import average_in, swap
from samebits.lockstep.worker.optimizers.rule import StepSettings
from samebits.lockstep.worker.optimizers.share import UpdateShare
from samebits.lockstep.worker.optimizers.table import OPTIMIZERS

__all__ = ["Update"]


class Update:
    """Updates one worker's share of the parameters in place, step after step."""

    def __init__(self, config: FitConfig, share: UpdateShare) -> None:
        self._config, self._share = config, share
        self._rules = OPTIMIZERS[config.optimizer]
        sizes = [muon_work(matrix.rows, matrix.columns) for matrix in share.matrices]
        self._work: Floats = np.empty(max(sizes, default=0), np.float32)

    def __call__(self, state: State, settings: StepSettings) -> None:
        """Make the update of one step."""
        for piece in self._share.slices:
            self._rules.slices(state, self._config, piece, settings)
        if self._rules.matrices is not None:
            for matrix in self._share.matrices:
                self._rules.matrices(state, self._config, matrix, settings, self._work)
        if self._config.average:
            average_in(state, self._config, self._share, settings.step)

    def swap(self, state: State) -> None:
        """Put the average where the parameters are, and the other way round."""
        swap(state, self._share)
