"""What is trained: tensors by name, and the gradient of one shard of one step.

An objective is pickled *unbound* to every worker process and bound there, once, to float32 views of the shared parameters.
So it may make what does not pickle (a compiled function, a memory map, a torch module) in ``bind`` and nowhere else.

The gradient of a shard may depend on nothing but the bound parameters and the arguments of ``shard``: the trainer computes
one shard twice before step 0 and refuses an objective whose bits differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["BatchSource", "Floats", "Group", "Modal", "Objective", "TensorSpec", "Validated"]

Floats: TypeAlias = NDArray[np.float32]
Group: TypeAlias = Literal["matrix", "embedding", "vector"]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor of the parameters.

    Attributes:
        name: Unique among the tensors of an objective.
        shape: Given by settings, never by workers.
        group: ``matrix`` takes weight decay and is what Muon orthogonalises (the last two axes; axes before them are a
            stack of matrices, each orthogonalised on its own). ``embedding`` takes weight decay. ``vector`` takes none.
    """

    name: str
    shape: tuple[int, ...]
    group: Group

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Objective(Protocol):
    """A loss to be made small. Optional members are looked for by name; see ``Validated``, ``Modal`` and below.

    Optional:
        ``check(num_shards)``  raises ConfigError before any process starts, e.g. for a batch that cannot be cut evenly
        ``identity()``         dict of plain values that a resume compares: data digest, model settings
        ``portable``           True if gradients and losses are made by ``samebits.arithmetic``, whole numbers and single IEEE operations
                               alone (no NumPy sums, ``@`` or ``exp``). Such a run goes on, and has ranks, on CPUs of any type
        ``reached(step)``      called in every worker before a validation with the number of steps done; which shards a worker has
                               computed until then tells nothing, it may be none
        ``units_per_step``     examples or tokens in one step, for speed in progress lines
    """

    def spec(self) -> Sequence[TensorSpec]:
        """Return all tensors; called in the parent too, before ``bind``."""
        ...

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Return the first values of all tensors; called in one worker, before ``bind``."""
        ...

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Take the views of the shared parameters; called once in every worker. They change under you after every step."""
        ...

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Write (not add) the gradient of shard ``g`` into ``grads`` and return its mean loss.

        The step's gradient and loss are the means over shards. ``rng`` is fresh and named by (seed, step, g); use no other.
        """
        ...


@runtime_checkable
class Validated(Protocol):
    """An objective with a validation set, cut into a fixed number of shards."""

    def num_validation_shards(self) -> int:
        """Return how many there are; given by data and settings. Called in the parent and in workers."""
        ...

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return (weighted sum of losses, weight) of one shard; both are folded by the tree, in float64.

        Shard 0 is always computed by worker 0, which is on the machine that writes the output.
        """
        ...


@runtime_checkable
class Modal(Protocol):
    """An objective that can compute in several ways, e.g. compiled and eager, whose bits differ.

    All workers try a mode; the first that works in every one of them is used by all of them, said aloud when it is not the
    first, and kept in the checkpoint's fingerprint. So no worker ever falls back alone.
    """

    def modes(self) -> Sequence[str]:
        """Return the modes, best first."""
        ...

    def enter(self, mode: str) -> bool:
        """Prepare a mode after ``bind``; return whether it works here. Must not raise for a mode that does not."""
        ...


class BatchSource(Protocol):
    """Where the ready-made objectives take their batches from.

    Optional: ``check(num_shards)``, ``identity()``, ``units_per_step`` as for an Objective.
    """

    def batch(self, step: int, g: int, num_shards: int, rng: np.random.Generator) -> Any:
        """Return the examples of shard ``g`` of a step; a pure function of the arguments."""
        ...
