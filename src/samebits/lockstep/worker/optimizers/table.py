"""The optimizers by name: which rule each uses for which tensors."""

from __future__ import annotations

from dataclasses import dataclass

from samebits.lockstep.problem.config import Optimizer
from samebits.lockstep.worker.optimizers import adamw, muon, sgd
from samebits.lockstep.worker.optimizers.rule import MatrixRule, SliceRule

__all__ = ["OPTIMIZERS", "Rules"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one optimizer.

    Attributes:
        slices: For all groups, cut anywhere; only for embeddings and vectors when there is a rule for matrices.
        matrices: For whole matrices of the group ``matrix``.
    """

    slices: SliceRule
    matrices: MatrixRule | None = None


OPTIMIZERS: dict[Optimizer, Rules] = {
    "adamw": Rules(adamw.update),
    "sgd": Rules(sgd.update),
    "muon": Rules(adamw.update, muon.update),
}
