"""Who updates what: slices cut on chunk borders, and whole matrices, the most expensive first.

All shares together cover every parameter once, for any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samebits.errors import ConfigError
from samebits.lockstep.exchange.tree import slice_of
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import CHUNK, Layout
from samebits.lockstep.problem.objective import Group
from samebits.lockstep.worker.optimizers.muon import cost_of, matrices_of
from samebits.lockstep.worker.optimizers.rule import MatrixShape, Slice
from samebits.lockstep.worker.optimizers.table import OPTIMIZERS

__all__ = ["UpdateShare", "check_matrices", "share_matrices", "share_of"]

DECAYED: tuple[Group, ...] = ("matrix", "embedding")


@dataclass(frozen=True, slots=True)
class UpdateShare:
    """What one worker updates."""

    slices: tuple[Slice, ...]
    matrices: tuple[MatrixShape, ...]


def check_matrices(config: FitConfig, layout: Layout) -> None:
    """Refuse a rule for matrices where tensors of that group are none."""
    whole = OPTIMIZERS[config.optimizer].matrices is not None
    for entry in layout.entries:
        if whole and entry.spec.group == "matrix" and len(entry.spec.shape) < 2:
            raise ConfigError(
                f"the tensor {entry.spec.name!r} of shape {entry.spec.shape} is in the group 'matrix'",
                hint=f"{config.optimizer} needs two axes; put it in the group 'vector' or 'embedding'",
            )


def share_of(config: FitConfig, layout: Layout, worker: int, workers: int) -> UpdateShare:
    """Return a worker's share."""
    whole = OPTIMIZERS[config.optimizer].matrices is not None
    groups: tuple[Group, ...] = ("embedding", "vector") if whole else ("matrix", "embedding", "vector")
    slices = []
    for group in groups:
        start, stop = slice_of(worker, workers, *layout.bounds(group), CHUNK)
        if start < stop:
            slices.append(Slice(start, stop, config.weight_decay if group in DECAYED else 0.0))
    matrices = share_matrices(matrices_of(layout), workers)[worker] if whole else []
    return UpdateShare(tuple(slices), tuple(matrices))


def share_matrices(matrices: Sequence[MatrixShape], workers: int) -> list[list[MatrixShape]]:
    """Give whole matrices to workers: the most expensive first, each to the least loaded."""
    load = [0] * workers
    shares: list[list[MatrixShape]] = [[] for _ in range(workers)]
    for matrix in sorted(matrices, key=lambda matrix: (-cost_of(matrix), matrix)):
        least = load.index(min(load))
        load[least] += cost_of(matrix)
        shares[least].append(matrix)
    return shares
