"""A torch module and a loss as an objective. torch is imported when it is used, so the room works without it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError, MissingExtra
from samebits.lockstep.problem.objective import BatchSource, Floats, Group, TensorSpec
from samebits.lockstep.problem.optional_methods import check_data, identity_of, units_of

__all__ = ["TorchObjective", "import_torch"]

MOST_SEED = 1 << 62


def import_torch(needed_for: str = "a torch objective", *, extra: str = "torch") -> Any:
    """Return the module torch.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", extra=extra, needed_for=needed_for) from None
    return torch


@dataclass
class TorchObjective:
    """Trains a torch module.

    Attributes:
        module: The module (training starts from its values), or a function without arguments that makes it (called with
            torch's generator seeded from the run's seed).
        loss: Takes the module and a batch (NumPy arrays become tensors), returns the mean loss of the batch as a scalar.
        data: Where batches come from; ``samebits.fit(objective, data)`` sets it.
        groups: Group of a parameter by name; without one, parameters of an ``Embedding`` are ``embedding``, others
            ``matrix`` with two and more axes and ``vector`` with fewer.
        validation: Batches whose mean loss is the validation loss; each is one validation shard of weight 1.
    """

    module: Any
    loss: Callable[[Any, Any], Any]
    data: BatchSource | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)
    validation: Sequence[Any] = ()

    def with_data(self, data: BatchSource) -> TorchObjective:
        """Return the same objective with another source of batches."""
        return replace(self, data=data)

    def _make(self, seed: int) -> Any:
        """Return a module of this process's own."""
        torch = import_torch()
        if isinstance(self.module, torch.nn.Module):
            return copy.deepcopy(self.module)
        torch.manual_seed(seed)
        return self.module()

    def spec(self) -> Sequence[TensorSpec]:
        """Describe the trainable parameters, in the module's order."""
        module = self._make(0)
        torch = import_torch()
        embedded = {
            id(parameter)
            for part in module.modules()
            if isinstance(part, torch.nn.Embedding)
            for parameter in part.parameters(recurse=False)
        }

        def group(name: str, parameter: Any) -> Group:
            if id(parameter) in embedded:
                return "embedding"
            return "matrix" if parameter.ndim >= 2 else "vector"

        return [
            TensorSpec(name, tuple(value.shape), self.groups.get(name) or group(name, value))
            for name, value in _trainable(module).items()
        ]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Return the module's values."""
        module = self._make(int(rng.integers(MOST_SEED)))
        return {name: value.detach().numpy() for name, value in _trainable(module).items()}

    def check(self, num_shards: int) -> None:
        """Refuse to start without batches, or with batches that cannot be cut."""
        check_data(self.data, num_shards)

    def identity(self) -> dict[str, Any]:
        """Return the identity of the data; that of a module and a loss cannot be known."""
        return identity_of(self.data)

    @property
    def units_per_step(self) -> int:
        """Rows of one step."""
        return units_of(self.data)

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Make the module and let its parameters be the shared views."""
        torch = import_torch()
        torch.set_num_threads(1)
        self._module = self._make(0)
        self._leaves = list(_trainable(self._module).items())
        for name, parameter in self._leaves:
            parameter.data = torch.from_numpy(params[name])
        self._checked = False

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Run forward and backward; dropout and the like draw from a generator seeded by the shard's own."""
        assert self.data is not None
        torch = import_torch()
        batch = _tensors(torch, self.data.batch(step, g, num_shards, rng))
        torch.manual_seed(int(rng.integers(MOST_SEED)))
        self._module.train()
        before = None if self._checked else self._buffers()
        loss = self.loss(self._module, batch)
        found = torch.autograd.grad(loss, [leaf for _, leaf in self._leaves], allow_unused=True)
        for (name, _), grad in zip(self._leaves, found, strict=True):
            if grad is None:
                grads[name][...] = 0.0
            else:
                torch.from_numpy(grads[name]).copy_(grad)
        if before is not None:
            self._refuse_changed(before)
        return float(loss.detach())

    def _buffers(self) -> dict[str, Any]:
        return {name: value.clone() for name, value in self._module.named_buffers()}

    def _refuse_changed(self, before: Mapping[str, Any]) -> None:
        """Refuse running statistics: they depend on which shards one process happened to compute."""
        for name, value in self._module.named_buffers():
            if not value.equal(before[name]):
                raise ConfigError(
                    f"the buffer {name!r} of the module changes while it trains, so it would depend on the workers",
                    hint="use layers without running statistics, e.g. LayerNorm or GroupNorm instead of BatchNorm",
                )
        self._checked = True

    def trained(self, params: Mapping[str, Floats]) -> Any:
        """Return a module of its own with these values, ready to predict."""
        torch = import_torch()
        module = self._make(0)
        with torch.no_grad():
            for name, parameter in _trainable(module).items():
                parameter.copy_(torch.from_numpy(np.array(params[name])))
        return module.eval()

    def num_validation_shards(self) -> int:
        """Return the number of validation batches."""
        return len(self.validation)

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return the loss of one validation batch, without dropout."""
        torch = import_torch()
        self._module.eval()
        with torch.no_grad():
            return float(self.loss(self._module, _tensors(torch, self.validation[i]))), 1.0


def _trainable(module: Any) -> dict[str, Any]:
    found = {name: value for name, value in module.named_parameters() if value.requires_grad}
    for name, value in found.items():
        if str(value.dtype) != "torch.float32":
            raise ConfigError(f"the parameter {name!r} is {value.dtype}", hint="use a float32 module")
    return found


def _tensors(torch: Any, batch: Any) -> Any:
    """Turn arrays into tensors wherever they are in tuples, lists and dicts."""
    if isinstance(batch, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(batch))
    if isinstance(batch, dict):
        return {key: _tensors(torch, value) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return type(batch)(_tensors(torch, value) for value in batch)
    return batch
