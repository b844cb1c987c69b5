"""A plain NumPy function as an objective: ``(params, batch, rng) -> (loss, grads)``. No torch is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError
from samebits.lockstep.problem.objective import BatchSource, Floats, Group, TensorSpec
from samebits.lockstep.problem.optional_methods import check_data, identity_of, units_of

__all__ = ["FunctionObjective"]

Params: TypeAlias = NDArray[Any] | Mapping[str, NDArray[Any]]
Function: TypeAlias = Callable[[Any, Any, np.random.Generator], tuple[Any, Any]]
ONLY = "params"  # the name of the one tensor when parameters are a single array


@dataclass
class FunctionObjective:
    """Trains the parameters of a function that computes its own gradients.

    Attributes:
        function: Gets the parameters as given in ``start`` (one array or a dict of arrays, float32), a batch and a
            generator; returns the mean loss of the batch and gradients of the same form.
        start: First values of the parameters.
        data: Where batches come from; ``samebits.fit(objective, data)`` sets it.
        groups: Group of a tensor by name; without one, two and more axes are ``matrix`` and fewer are ``vector``.
        portable: The function computes with ``samebits.arithmetic``, whole numbers and single IEEE operations alone, so its bits
            are the same on every CPU.
        validation: Batches whose mean loss is the validation loss; each is one validation shard of weight 1.
    """

    function: Function
    start: Params
    data: BatchSource | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)
    validation: Sequence[Any] = ()
    portable: bool = False

    def with_data(self, data: BatchSource) -> FunctionObjective:
        """Return the same objective with another source of batches."""
        return replace(self, data=data)

    def _tensors(self) -> Mapping[str, NDArray[Any]]:
        return self.start if isinstance(self.start, Mapping) else {ONLY: self.start}

    def spec(self) -> Sequence[TensorSpec]:
        """Describe the parameters."""
        return [
            TensorSpec(name, value.shape, self.groups.get(name, "matrix" if value.ndim >= 2 else "vector"))
            for name, value in self._tensors().items()
        ]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Return the first values."""
        return self._tensors()

    def check(self, num_shards: int) -> None:
        """Refuse to start without batches, or with batches that cannot be cut."""
        check_data(self.data, num_shards)

    def identity(self) -> dict[str, Any]:
        """Return the identity of the data; that of a function cannot be known."""
        return identity_of(self.data)

    @property
    def units_per_step(self) -> int:
        """Rows of one step."""
        return units_of(self.data)

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Keep the views."""
        self._params = params

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Call the function and copy its gradients."""
        assert self.data is not None
        loss, found = self.function(self._given(), self.data.batch(step, g, num_shards, rng), rng)
        if not isinstance(self.start, Mapping):
            found = {ONLY: found}
        for name, grad in grads.items():
            if np.shape(found[name]) != grad.shape:
                raise ConfigError(
                    f"the gradient of {name!r} has shape {np.shape(found[name])}, the parameter {grad.shape}"
                )
            grad[...] = found[name]
        return float(loss)

    def _given(self) -> Any:
        return self._params if isinstance(self.start, Mapping) else self._params[ONLY]

    def num_validation_shards(self) -> int:
        """Return the number of validation batches."""
        return len(self.validation)

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return the loss of one validation batch; its generator is fresh each time."""
        loss, _ = self.function(
            self._given(), self.validation[i], np.random.Generator(np.random.Philox(key=i))
        )
        return float(loss), 1.0
