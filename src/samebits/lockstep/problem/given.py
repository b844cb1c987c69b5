"""What people hand to ``samebits.fit``, as objectives and batches: torch modules, models on our own operations, arrays, data loaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import draw_order, rng_for
from samebits.errors import ConfigError
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.network_objective import NetworkObjective
from samebits.lockstep.problem.objective import BatchSource, Objective
from samebits.lockstep.problem.torch_objective import TorchObjective

__all__ = ["Criterion", "LoaderBatches", "NamedBatches", "as_batches", "as_objective", "validated"]

USUAL_BATCH = 64


@dataclass(frozen=True, slots=True)
class Criterion:
    """A loss of outputs and targets, as torch has them, applied to batches (inputs, targets)."""

    loss: Callable[[Any, Any], Any]

    def __call__(self, module: Any, batch: Any) -> Any:
        """Return the loss of a batch."""
        inputs, targets = batch
        return self.loss(module(inputs), targets)


class NamedBatches:
    """Rows of equally long arrays; a batch is a dict with the same rows of each.

    Args:
        arrays: By name; the first axis of each counts rows.
        batch: Rows of one step, over all shards.
        seed: Root of the orders.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], *, batch: int, seed: int = 0) -> None:
        self._names = tuple(arrays)
        self._rows = ArrayBatches(*arrays.values(), batch=batch, seed=seed)
        self.units_per_step = batch
        self.check, self.identity = self._rows.check, self._rows.identity

    def batch(self, step: int, g: int, num_shards: int, rng: np.random.Generator | None) -> dict[str, Any]:
        """Return the rows of one shard."""
        return dict(zip(self._names, self._rows.batch(step, g, num_shards, rng), strict=True))


@dataclass(frozen=True)
class LoaderBatches:
    """The data set of a torch ``DataLoader``, read by address: every row once an epoch, in an order named by (seed, epoch).

    The loader's own workers and sampler are not used: which rows a step has may not depend on who asks.

    Attributes:
        dataset: Has ``len`` and rows by number.
        collate: Makes a batch of a list of rows.
        units_per_step: Rows of one step.
        shuffle: Another order every epoch.
        seed: Root of the orders.
    """

    dataset: Any
    collate: Callable[[list[Any]], Any]
    units_per_step: int
    shuffle: bool
    seed: int

    def check(self, num_shards: int) -> None:
        """Refuse a batch that cannot be split into equal shards."""
        if self.units_per_step % num_shards or self.units_per_step > len(self.dataset):
            raise ConfigError(
                f"batches of {self.units_per_step} rows of {len(self.dataset)} cannot be split into {num_shards} equal shards",
                hint=f"give the loader a batch_size that is a multiple of {num_shards}, or fit with a different number of shards",
            )

    def identity(self) -> dict[str, Any]:
        """Return what a resume can compare; the rows themselves cannot be known without reading them all."""
        return {
            "rows": len(self.dataset),
            "batch": self.units_per_step,
            "shuffle": self.shuffle,
            "data_seed": self.seed,
        }

    def batch(self, step: int, g: int, num_shards: int, rng: np.random.Generator) -> Any:
        """Return the rows of one shard."""
        size, rows = self.units_per_step // num_shards, len(self.dataset)
        epoch, number = divmod(step, rows // self.units_per_step)
        order = draw_order(rng_for(self.seed, "rows", epoch), rows) if self.shuffle else np.arange(rows)
        first = number * self.units_per_step + g * size
        return self.collate([self.dataset[int(i)] for i in order[first : first + size]])


def as_objective(given: Any, loss: Callable[..., Any] | None) -> Objective:
    """Return what lockstep trains: an objective as it is, or one around a model.

    Raises:
        ConfigError: for something else, or a torch module without a loss.
    """
    if hasattr(given, "spec") and hasattr(given, "bind"):
        if loss is not None:
            raise ConfigError(f"{type(given).__name__} has its own loss", hint="leave loss= out")
        return given  # type: ignore[no-any-return]  # an objective has both
    if hasattr(given, "named_parameters") and hasattr(given, "forward"):
        if loss is None:
            raise ConfigError(
                "a torch module without a loss",
                hint="add loss=torch.nn.CrossEntropyLoss(), or a function (module, batch)",
            )
        return TorchObjective(given, Criterion(loss) if _is_criterion(loss) else loss)
    if callable(getattr(given, "parameters", None)) and callable(getattr(given, "loss", None)):
        return NetworkObjective(given)
    raise ConfigError(
        f"fit cannot train a {type(given).__name__}",
        hint="give a torch module with loss=, a model with parameters() and loss(network, batch), or an objective",
    )


def _is_criterion(loss: Any) -> bool:
    """Tell whether a loss is torch's own, which takes outputs and targets."""
    return hasattr(loss, "forward") or str(getattr(loss, "__module__", "")).startswith("torch")


def as_batches(data: Any, *, batch: int | None, shards: int, seed: int) -> BatchSource:
    """Return a source of batches: one as it is, a data loader's rows, or rows of arrays.

    Raises:
        ConfigError: for something else.
    """
    if hasattr(data, "batch"):
        return data  # type: ignore[no-any-return]  # a source has it
    if hasattr(data, "dataset") and hasattr(data, "collate_fn"):
        return _of_loader(data, batch, seed)
    if isinstance(data, Mapping):
        arrays = {name: _array(value) for name, value in data.items()}
        return NamedBatches(arrays, batch=batch or _usual(arrays.values(), shards), seed=seed)
    columns = [_array(value) for value in data] if isinstance(data, tuple | list) else [_array(data)]
    return ArrayBatches(*columns, batch=batch or _usual(columns, shards), seed=seed)


def _array(value: Any) -> NDArray[Any]:
    found = np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)
    if found.ndim == 0 or found.dtype == object:
        raise ConfigError(
            f"data of type {type(value).__name__} is not rows",
            hint="give arrays, a dict or tuple of them, or a DataLoader",
        )
    return found


def _usual(columns: Any, shards: int) -> int:
    """Return 64 rows, or what there is, as a multiple of the shards."""
    rows = min((len(column) for column in columns), default=0)
    return max(shards, min(USUAL_BATCH, rows) // shards * shards)


def _of_loader(loader: Any, batch: int | None, seed: int) -> LoaderBatches:
    size = batch or loader.batch_size
    if size is None or not hasattr(loader.dataset, "__len__") or not hasattr(loader.dataset, "__getitem__"):
        raise ConfigError(
            "a DataLoader without rows by number",
            hint="use a map-style data set with a batch_size, or write batch(step, g, ...)",
        )
    shuffle = "Random" in type(loader.sampler).__name__
    return LoaderBatches(loader.dataset, loader.collate_fn, size, shuffle, seed)


def validated(objective: Any, validation: Sequence[Any] | None) -> Objective:
    """Return the objective with batches to validate on."""
    if validation is None:
        return objective  # type: ignore[no-any-return]  # as it was
    if not hasattr(objective, "validation"):
        raise ConfigError(
            f"{type(objective).__name__} takes no validation",
            hint="an objective of your own has validation_shard",
        )
    found: Objective = replace(objective, validation=validation)
    return found
