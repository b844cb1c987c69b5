"""The language model as something lockstep can train: tensors, gradient of a shard, validation, modes of computing.

torch is imported in ``bind``, so the parent, which only sends this object to its workers, does without its 200 MB.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samebits.lm.model.arch import Architecture
from samebits.lm.run_settings import Recipe
from samebits.lm.text.sources import TokenSource
from samebits.lm.training.batches import VAL_ROWS, Batches
from samebits.lm.training.samples import Samples
from samebits.lockstep.problem.objective import Floats, TensorSpec

if TYPE_CHECKING:
    import torch

    from samebits.lm.training.compiled import Loss

__all__ = ["LmObjective", "first_values"]

INIT_STD = 0.02


def first_values(arch: Architecture, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return starting weights: small normals, norms at 1, outputs into the stream at 0 or scaled down by depth."""
    found: dict[str, NDArray[Any]] = {}
    for tensor in arch.tensors():
        if tensor.kind == "vector":
            found[tensor.name] = np.ones(tensor.shape, np.float32)
            continue
        std = INIT_STD
        if tensor.name == "head" and arch.zero_init:
            std = 0.0
        elif tensor.name.endswith((".o", ".down")):
            std = 0.0 if arch.zero_init else INIT_STD / math.sqrt(2 * arch.layers)
        found[tensor.name] = (rng.standard_normal(tensor.shape) * std).astype(np.float32)
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
        self, recipe: Recipe, source: TokenSource, *, cache: str = "", samples: Samples | None = None
    ) -> None:
        self.recipe, self.source, self.cache, self.samples = recipe, source, cache, samples
        self._step = 0

    def spec(self) -> Sequence[TensorSpec]:
        """Describe the tensors."""
        return [TensorSpec(tensor.name, tensor.shape, tensor.kind) for tensor in self.recipe.arch.tensors()]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Return the first values."""
        return first_values(self.recipe.arch, rng)

    def identity(self) -> dict[str, Any]:
        """Return what a resume compares."""
        recipe = self.recipe
        kept = {
            "batch": recipe.batch,
            "dropout": recipe.dropout,
            "dtype": recipe.dtype,
            "compute": recipe.compute,
        }
        return {"data": self.source.digest, **kept}

    @property
    def units_per_step(self) -> int:
        """Tokens of a step."""
        return self.recipe.tokens_per_step

    def bind(self, params: Mapping[str, Floats]) -> None:
        """Open the tokens, make the buffers."""
        import torch

        from samebits.lm.model.passes import Passes
        from samebits.lm.training.compiled import autograd_loss

        torch.set_num_threads(1)
        recipe = self.recipe
        self._params = {name: torch.from_numpy(value) for name, value in params.items()}
        self._batches = self._open()
        self._passes = Passes(recipe.arch, recipe.rows)
        self._written_out = recipe.dtype == "float32"
        self._loss = autograd_loss(recipe.arch, recipe.dtype)

    def _open(self) -> Batches:
        recipe = self.recipe
        tokens = self.source.load()
        return Batches(tokens, block=recipe.arch.block, batch=recipe.batch, seed=recipe.fit.seed)

    def modes(self) -> Sequence[str]:
        """Return ``compiled`` first if asked for."""
        return ("compiled", "eager") if self.recipe.compute == "compiled" else ("eager",)

    def enter(self, mode: str) -> bool:
        """Prepare a mode; a compiler that fails is given a clean cache once, and then given up."""
        from samebits.lm.training.compiled import autograd_loss, try_to_compile

        self._loss = autograd_loss(self.recipe.arch, self.recipe.dtype)
        self._written_out = mode == "eager" and self.recipe.dtype == "float32"
        if mode == "eager":
            return True
        cache = self.cache or tempfile.mkdtemp(prefix="samebits-compiled-")
        compiled = try_to_compile(self._loss, Path(cache), self._warm_up)
        if compiled is None:
            return False
        self._loss = compiled
        return True

    def _warm_up(self, loss: Loss) -> None:
        import torch

        window = torch.zeros((self.recipe.rows, self.recipe.arch.block), dtype=torch.int64)
        self._autograd(loss, window, window, self._masks(np.random.Generator(np.random.Philox(key=0))))

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        """Write the gradient of one shard."""
        import torch

        windows = torch.from_numpy(self._batches.shard(step, g, num_shards))
        x, y = windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
        masks = self._masks(rng)
        targets = {name: torch.from_numpy(value) for name, value in grads.items()}
        if self._written_out:
            loss = self._passes.loss(self._params, x, y, masks)
            self._passes.backward(self._params, targets, x, y)
            return loss
        value, found = self._autograd(self._loss, x, y, masks)
        torch._foreach_copy_(list(targets.values()), [found[name] for name in targets])
        return value

    def _masks(self, rng: np.random.Generator) -> tuple[torch.Tensor, ...]:
        """Return what dropout multiplies by; drawn by the shard's own generator, so compiled code draws nothing."""
        import torch

        arch, keep = self.recipe.arch, 1 - self.recipe.dropout
        if keep == 1:
            return ()
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        shape = (1 + 2 * arch.layers, self.recipe.rows * arch.block, arch.dim)
        drawn = torch.empty(shape).bernoulli_(keep, generator=generator).mul_(1 / keep)
        return tuple(drawn)

    def _autograd(
        self, function: Loss, x: torch.Tensor, y: torch.Tensor, masks: tuple[torch.Tensor, ...]
    ) -> tuple[float, dict[str, torch.Tensor]]:
        import torch

        leaves = {name: value.detach().requires_grad_(True) for name, value in self._params.items()}
        loss = function(leaves, x, y, masks)
        found = torch.autograd.grad(loss, list(leaves.values()))
        return float(loss.detach()), dict(zip(leaves, found, strict=True))

    def num_validation_shards(self) -> int:
        """Return the number of validation shards; the tokens are opened for it where they are not bound."""
        batches = self._batches if hasattr(self, "_batches") else self._open()
        return -(-max(0, batches.num_val_windows) // VAL_ROWS)

    def reached(self, step: int) -> None:
        """Remember the step, for the samples that the validation writes."""
        self._step = step

    def validation_shard(self, i: int) -> tuple[float, float]:
        """Return the sum of losses over tokens, and their number; in float32 and without dropout in every mode."""
        if i == 0 and self.samples is not None:
            self.samples.write(self.recipe.arch, self._params, self._step)
        total, weight = 0.0, 0
        rows = self.recipe.rows
        for first in range(i * VAL_ROWS, (i + 1) * VAL_ROWS, rows):
            windows = self._batches.val_windows(first, min(first + rows, (i + 1) * VAL_ROWS))
            if not len(windows):
                break
            loss, num = self._passes.sum_loss(self._params, windows)
            total, weight = total + loss, weight + num
        return total, float(weight)
