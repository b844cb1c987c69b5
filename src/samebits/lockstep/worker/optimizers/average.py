"""The average of the parameters over steps: what a run with ``average`` gives back, and validates, instead of the last ones.

The step takes the share 1 / (1 + average * step) of the new average, so it reaches back over about that part of all steps done:
over the last 500 of 5,000 with 0.1, over the last 20 of 200. What was before counts for ever less. Every element has three operations,
each rounded on its own, so it has the same bits wherever slices are cut.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.worker.optimizers.share import UpdateShare

__all__ = ["average_in", "swap"]

BLOCK = 1 << 14  # floats: parameters, average and difference stay in the second cache


def _pieces(share: UpdateShare) -> Iterator[slice]:
    yield from (slice(piece.start, piece.stop) for piece in share.slices)
    yield from (
        slice(matrix.offset, matrix.offset + matrix.rows * matrix.columns) for matrix in share.matrices
    )


def average_in(state: State, config: FitConfig, share: UpdateShare, step: int) -> None:
    """Let one worker's parameters after ``step`` (from 0) into their average."""
    part = np.float32(1.0 / (1.0 + config.average * step))
    work = np.empty(BLOCK, np.float32)
    for piece in _pieces(share):
        for start in range(piece.start, piece.stop, BLOCK):
            here = slice(start, min(start + BLOCK, piece.stop))
            average, difference = state.average[here], work[: here.stop - here.start]
            np.subtract(state.params[here], average, out=difference)
            difference *= part
            average += difference


def swap(state: State, share: UpdateShare) -> None:
    """Let one worker's parameters and their average change places."""
    for piece in _pieces(share):
        held = state.params[piece].copy()
        state.params[piece] = state.average[piece]
        state.average[piece] = held
