"""What a rule of an optimizer is given: where to update, and the numbers of the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.objective import Floats

__all__ = ["MatrixRule", "MatrixShape", "Slice", "SliceRule", "StepSettings"]


class StepSettings(NamedTuple):
    """The same numbers in every worker.

    Attributes:
        step: Counted from 0.
        scale: What clipping multiplies the gradient by.
        rate: Share of the peak learning rates.
    """

    step: int
    scale: float
    rate: float


class Slice(NamedTuple):
    """Elements ``[start, stop)`` of the flat buffer, and their weight decay."""

    start: int
    stop: int
    decay: float


class MatrixShape(NamedTuple):
    """A whole matrix: its first element in the flat buffer, and its size."""

    offset: int
    rows: int
    columns: int


SliceRule: TypeAlias = Callable[[State, FitConfig, Slice, StepSettings], None]
MatrixRule: TypeAlias = Callable[[State, FitConfig, MatrixShape, StepSettings, Floats], None]
