"""The update of one worker's share: slices for AdamW and SGD, whole matrices for Muon.

Slices are elementwise and matrices have one owner, so the bits do not depend on how many workers share the work. Everything
reads the mean gradient of row 0 and applies the clip itself, so no barrier is needed between clipping and updating.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from samebits.errors import ConfigError
from samebits.kernels.lockstep import steps as kernel
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.exchange.tree import slice_of
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import CHUNK, Layout
from samebits.lockstep.problem.objective import Group
from samebits.lockstep.worker.optimizers.muon import Matrix, matrices_of, orthogonalise, share_matrices

__all__ = ["Share", "check_matrices", "share_of", "update"]

DECAYED: tuple[Group, ...] = ("matrix", "embedding")


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker updates: slices (start, stop, weight decay) and whole matrices."""

    slices: tuple[tuple[int, int, float], ...]
    matrices: tuple[Matrix, ...]


def check_matrices(config: FitConfig, layout: Layout) -> None:
    """Refuse Muon for tensors that are no matrices."""
    for entry in layout.entries:
        if config.optimizer == "muon" and entry.spec.group == "matrix" and len(entry.spec.shape) < 2:
            raise ConfigError(
                f"the tensor {entry.spec.name!r} of shape {entry.spec.shape} is in the group 'matrix'",
                hint="Muon needs two axes; put it in the group 'vector' or 'embedding'",
            )


def share_of(config: FitConfig, layout: Layout, worker: int, workers: int) -> Share:
    """Return a worker's share; all shares together cover every parameter once."""
    muon = config.optimizer == "muon"
    groups: tuple[Group, ...] = ("embedding", "vector") if muon else ("matrix", "embedding", "vector")
    slices = []
    for group in groups:
        start, stop = slice_of(worker, workers, *layout.bounds(group), CHUNK)
        if start < stop:
            slices.append((start, stop, config.weight_decay if group in DECAYED else 0.0))
    matrices = share_matrices(matrices_of(layout), workers)[worker] if muon else []
    return Share(tuple(slices), tuple(matrices))


def update(state: State, config: FitConfig, share: Share, step: int, scale: float, rate: float) -> None:
    """Update a share in place.

    Args:
        state: The shared arrays; row 0 holds the mean gradient.
        config: Optimizer and its settings.
        share: What to update.
        step: Counted from 0.
        scale: What clipping multiplies the gradient by.
        rate: Share of the peak learning rates.
    """
    grads = state.rows[0]
    for start, stop, decay in share.slices:
        if config.optimizer == "sgd":
            kernel.sgd(
                state.params, grads, state.first, start, stop,
                scale, config.lr * rate, config.momentum, decay, config.nesterov,
            )  # fmt: skip
        else:
            kernel.adamw(
                state.params, grads, state.first, state.second, start, stop,
                scale, config.lr * rate, config.beta1, config.beta2, config.eps, decay, step + 1,
            )  # fmt: skip
    for matrix in share.matrices:
        _update_matrix(state, config, matrix, scale, config.muon_lr * rate)


def _update_matrix(state: State, config: FitConfig, matrix: Matrix, scale: float, lr: float) -> None:
    offset, rows, columns = matrix
    place = slice(offset, offset + rows * columns)
    param, grad, momentum = (
        flat[place].reshape(rows, columns) for flat in (state.params, state.rows[0], state.first)
    )
    grad *= np.float32(scale)
    momentum += np.float32(1.0 - config.momentum) * (grad - momentum)
    if config.nesterov:
        direction = orthogonalise(
            grad + np.float32(config.momentum) * (momentum - grad), config.muon_iterations
        )
    else:
        direction = orthogonalise(momentum, config.muon_iterations)
    if config.muon_weight_decay:
        param *= np.float32(1.0 - lr * config.muon_weight_decay)
    param -= np.float32(lr * math.sqrt(max(1.0, rows / columns))) * direction
