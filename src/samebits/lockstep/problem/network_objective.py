"""A model on samebits' own arithmetic as an objective: the same bits for any number of workers, on any CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import VERSION
from samebits.arithmetic.network import First, Loss, Network, first_values
from samebits.arithmetic.selftest import check_machine
from samebits.errors import ConfigError
from samebits.lockstep.problem.objective import BatchSource, Floats, Group, TensorSpec
from samebits.lockstep.problem.optional_methods import check_data, identity_of, units_of

__all__ = ["NetworkModel", "NetworkObjective"]


@runtime_checkable
class NetworkModel(Protocol):
    """What a model of your own has to say. It is pickled to every worker, so it belongs at the top of a module."""

    def parameters(self) -> Mapping[str, First]:
        """Return how each parameter begins; see ``matrix``, ``table`` and ``zeros`` of ``samebits.arithmetic.network``."""
        ...

    def loss(self, network: Network, batch: Any) -> Loss:
        """Return the mean loss of a batch, made by the operations of ``network`` alone."""
        ...


@dataclass
class NetworkObjective:
    """Trains a model whose loss is made of the operations of ``samebits.arithmetic.network``.

    Attributes:
        model: Has ``parameters()`` and ``loss(network, batch)``.
        data: Where batches come from; ``samebits.fit(model, data)`` sets it.
        validation: Batches whose mean loss is the validation loss; each is one validation shard of weight 1.
    """

    model: NetworkModel
    data: BatchSource | None = None
    validation: Sequence[Any] = ()
    portable: bool = True

    def with_data(self, data: BatchSource) -> NetworkObjective:
        """Return the same objective with another source of batches."""
        return replace(self, data=data)

    def spec(self) -> Sequence[TensorSpec]:
        """Describe the parameters."""
        return [
            TensorSpec(name, first.shape, cast(Group, first.kind))
            for name, first in self.model.parameters().items()
        ]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Draw the first values."""
        return first_values(self.model.parameters(), rng)

    def check(self, num_shards: int) -> None:
        """Refuse to start without batches, or with batches that cannot be cut."""
        check_data(self.data, num_shards)

    def identity(self) -> dict[str, Any]:
        """Return the identity of the data and the number of the arithmetic; that of a model cannot be known."""
        return {**identity_of(self.data), "arithmetic": VERSION}

    @property
    def units_per_step(self) -> int:
        """Rows of one step."""
        return units_of(self.data)

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Check that this machine computes like all others, and keep the views."""
        check_machine()
        self._network = Network(params)
        self._step = -1

    def _take_over(self, step: int) -> None:
        """Let the network read the parameters again after every step."""
        if self._step != step:
            self._network.changed()
            self._step = step

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Write the gradient of one shard; what dropout drops is decided by the shard's own generator."""
        assert self.data is not None
        self._take_over(step)
        batch = self.data.batch(step, g, num_shards, rng)
        self._network.start(grads, key=int(rng.bit_generator.random_raw()) | 1)
        return self._network.finish(self._loss(batch))

    def _loss(self, batch: Any) -> Loss:
        found = self.model.loss(self._network, batch)
        if not isinstance(found, Loss):
            raise ConfigError(
                f"the loss of {type(self.model).__name__} is a {type(found).__name__}",
                hint="return what network.cross_entropy or network.squared_error gives",
            )
        return found

    def num_validation_shards(self) -> int:
        """Return the number of validation batches."""
        return len(self.validation)

    def changed(self) -> None:
        """Read the parameters again before they are used, although no step was done."""
        self._step = -1

    def reached(self, step: int) -> None:
        """Take over the parameters before a validation."""
        self._take_over(step)

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return the loss of one validation batch, without dropout."""
        self._network.start()
        return self._loss(self.validation[i]).number, 1.0
