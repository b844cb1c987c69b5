"""Losses, norms and rates of all steps so far; kept in every checkpoint, so that a resumed run knows its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.lockstep.worker.messages import Stepped

__all__ = ["History"]


@dataclass
class History:
    """One row a step, one pair a validation."""

    steps: list[tuple[float, float, float, int]] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)

    def add(self, message: Stepped) -> None:
        """Append a step; steps arrive in order."""
        assert message.step == len(self.steps), (message.step, len(self.steps))
        self.steps.append((message.loss, message.grad_norm, message.lr, message.norms_crc))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays, under the names a checkpoint has."""
        columns = list(zip(*self.steps, strict=True)) or [(), (), (), ()]
        return {
            "losses": np.array(columns[0], np.float64),
            "grad_norms": np.array(columns[1], np.float64),
            "lrs": np.array(columns[2], np.float64),
            "norms_crcs": np.array(columns[3], np.uint32),
            "validation_steps": np.array([step for step, _ in self.validations], np.int64),
            "validation_losses": np.array([loss for _, loss in self.validations], np.float64),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> History:
        """Read what ``tensors`` wrote."""
        names = ("losses", "grad_norms", "lrs", "norms_crcs")
        steps = list(zip(*(tensors[name].tolist() for name in names), strict=True))
        pairs = zip(tensors["validation_steps"].tolist(), tensors["validation_losses"].tolist(), strict=True)
        return cls(steps, list(pairs))
