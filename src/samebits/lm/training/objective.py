"""The language model as something lockstep can train: tensors, gradient of a shard, validation.

Everything is computed by samebits' own arithmetic, with the same bits on every CPU. ``--arithmetic torch`` takes gradients from
torch instead; validation stays the same. Whatever computes is imported in ``bind``, by workers alone: the parent starts them sooner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import VERSION
from samebits.arithmetic.functions import normal
from samebits.lm.model.arch import Architecture
from samebits.lm.run_settings import RunSettings
from samebits.lm.text.sources import TokenSource
from samebits.lm.training.batches import VAL_ROWS, Batches
from samebits.lm.training.samples import Samples
from samebits.lockstep.problem.objective import Floats, TensorSpec

if TYPE_CHECKING:
    from samebits.lm.training.torch_gradient import TorchGradient

__all__ = ["LmObjective", "first_values"]

INIT_STD = 0.02


def first_values(arch: Architecture, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return starting weights: small normals, norms at 1, outputs into the stream at 0 or scaled down by depth."""
    found: dict[str, NDArray[Any]] = {}
    for tensor in arch.tensors():
        if tensor.kind == "vector":
            found[tensor.name] = np.ones(tensor.shape, np.float32)
            continue
        if tensor.name.startswith("ngram"):
            found[tensor.name] = np.zeros(tensor.shape, np.float32)
            continue
        std = INIT_STD
        if tensor.name == "head" and arch.zero_init:
            std = 0.0
        elif tensor.name.endswith((".o", ".down")):
            std = 0.0 if arch.zero_init else INIT_STD / math.sqrt(2 * arch.layers)
        found[tensor.name] = (normal(rng, tensor.shape) * std).astype(np.float32)
    return found


class LmObjective:
    """Cross-entropy of the next token.

    Args:
        recipe: Sizes and settings.
        source: Where the tokens are.
        cache: Folder for compiled code, of this run alone; without one every worker has its own.
        samples: What the validation writes, if anything.
    """

    def __init__(
        self, recipe: RunSettings, source: TokenSource, *, cache: str = "", samples: Samples | None = None
    ) -> None:
        self.recipe, self.source, self.cache, self.samples = recipe, source, cache, samples
        self._step = 0
        self._packed = -1  # how many steps were done when the program last took over the weights
        self._torch: TorchGradient | None = None

    def spec(self) -> Sequence[TensorSpec]:
        """Describe the tensors."""
        return [TensorSpec(tensor.name, tensor.shape, tensor.kind) for tensor in self.recipe.arch.tensors()]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Return the first values."""
        return first_values(self.recipe.arch, rng)

    def identity(self) -> dict[str, Any]:
        """Return what a resume compares."""
        recipe = self.recipe
        arithmetic = VERSION if recipe.arithmetic == "portable" else recipe.arithmetic
        drops = {"dropout": recipe.dropout, "ngram_dropout": recipe.ngram_dropout}
        kept = {"batch": recipe.batch, **drops, "dtype": recipe.dtype}
        return {"data": self.source.digest, "arithmetic": arithmetic, "compute": recipe.compute, **kept}

    @property
    def portable(self) -> bool:
        """Whether the bits are the same on every CPU."""
        return self.recipe.arithmetic == "portable"

    @property
    def units_per_step(self) -> int:
        """Tokens of a step."""
        return self.recipe.tokens_per_step

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Check that this machine computes like all others, open the tokens, make the buffers."""
        from samebits.arithmetic.selftest import check_machine
        from samebits.lm.model.definition import record
        from samebits.machine.caps import keep_little_freed_memory

        recipe = self.recipe
        portable = recipe.arithmetic == "portable"
        if portable:  # steps use the program's buffers alone; torch allocates in every one
            keep_little_freed_memory()
        check_machine()
        self._params = params
        self._batches = self._open()
        self._program = record(
            recipe.arch,
            params,
            windows=recipe.rows,
            dropout=recipe.dropout if portable else 0.0,
            ngram_dropout=recipe.ngram_dropout if portable else 0.0,
            gradients=portable,
        )
        if not portable:
            from samebits.lm.training.torch_gradient import TorchGradient

            self._torch = TorchGradient(recipe, params, self.cache)

    def _open(self) -> Batches:
        recipe = self.recipe
        tokens = self.source.load()
        return Batches(tokens, block=recipe.arch.block, batch=recipe.batch, seed=recipe.fit.seed)

    def modes(self) -> Sequence[str]:
        """Return ``portable``, or of torch's ways ``compiled`` first if asked for."""
        if self.recipe.arithmetic == "portable":
            return ("portable",)
        return ("compiled", "eager") if self.recipe.compute == "compiled" else ("eager",)

    def enter(self, mode: str) -> bool:
        """Prepare a mode."""
        return self._torch is None or self._torch.enter(mode)

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Write the gradient of one shard."""
        windows = self._batches.shard(step, g, num_shards)
        if self._torch is not None:
            return self._torch.shard(windows, rng, grads)
        self._take_over(step)
        drops = self.recipe.dropout or self.recipe.ngram_dropout
        key = int(rng.bit_generator.random_raw()) | 1 if drops else 0
        return self._program.gradient(*_pair(windows), grads, key=key)

    def _take_over(self, step: int) -> None:
        """Pack the weights once a step, for all shards that this worker computes."""
        if self._packed != step:
            self._program.pack()
            self._packed = step

    def num_validation_shards(self) -> int:
        """Return the number of validation shards; the tokens are opened for it where they are not bound."""
        batches = self._batches if hasattr(self, "_batches") else self._open()
        return -(-max(0, batches.num_val_windows) // VAL_ROWS)

    def changed(self) -> None:
        """Pack the weights again before they are used, although no step was done."""
        self._packed = -1

    def reached(self, step: int) -> None:
        """Remember the step, for the samples that the validation writes."""
        self._step = step

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return the sum of losses over tokens, and their number; without dropout."""
        if i == 0 and self.samples is not None:
            self.samples.write(self.recipe.arch, self._params, self._step)
        self._take_over(self._step)
        total, weight = 0.0, 0
        rows = self.recipe.rows
        for first in range(i * VAL_ROWS, (i + 1) * VAL_ROWS, rows):
            windows = self._batches.val_windows(first, min(first + rows, (i + 1) * VAL_ROWS))
            if not len(windows):
                break
            x, y = _pair(windows)
            total, weight = total + self._program.sum_of_losses(x, y), weight + x.size
        return total, float(weight)


def _pair(windows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return inputs and targets of windows (rows, block + 1)."""
    return np.ascontiguousarray(windows[:, :-1]), np.ascontiguousarray(windows[:, 1:])
