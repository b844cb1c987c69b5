"""Gradients by torch, for ``--arithmetic torch``: plain autograd, optionally compiled or in bfloat16.

Its bits are those of one CPU type and one version of torch. Compiled code is kept in a cache of the run's own: a compiler that
was killed can leave half of a file that later runs trip over, so the cache is thrown away on the first error. Workers take
turns: the first compiles, the others find it done.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from samebits.lm.exchange import portable_model
from samebits.lm.model.arch import Architecture
from samebits.lm.run_settings import RunSettings
from samebits.lockstep.problem.objective import Floats

__all__ = ["Loss", "TorchGradient", "autograd_loss", "try_to_compile"]

Loss = Callable[..., torch.Tensor]
Masks = tuple[torch.Tensor | None, ...]


class TorchGradient:
    """The gradient of a shard by autograd.

    Args:
        recipe: Sizes and settings.
        params: Weights by name; their memory is shared.
        cache: Folder for compiled code, of this run alone; without one every worker has its own.
    """

    def __init__(self, recipe: RunSettings, params: Mapping[str, Floats], cache: str) -> None:
        torch.set_num_threads(1)
        self.recipe, self.cache = recipe, cache
        self._params = {name: torch.from_numpy(value) for name, value in params.items()}
        self._loss = autograd_loss(recipe.arch, recipe.dtype)

    def enter(self, mode: str) -> bool:
        """Prepare ``eager`` or ``compiled``; a compiler that fails is given a clean cache once, and then given up."""
        self._loss = autograd_loss(self.recipe.arch, self.recipe.dtype)
        if mode == "eager":
            return True
        cache = self.cache or tempfile.mkdtemp(prefix="samebits-compiled-")
        compiled = try_to_compile(self._loss, Path(cache), self._warm_up)
        if compiled is None:
            return False
        self._loss = compiled
        return True

    def _warm_up(self, loss: Loss) -> None:
        window = torch.zeros((self.recipe.rows, self.recipe.arch.block), dtype=torch.int64)
        self._autograd(loss, window, window, self._masks(np.random.Generator(np.random.Philox(key=0))))

    def shard(
        self,
        windows: np.ndarray[Any, np.dtype[np.int64]],
        rng: np.random.Generator,
        grads: Mapping[str, Floats],
    ) -> float:
        """Write the gradient of windows (rows, block + 1) and return their mean loss."""
        pairs = torch.from_numpy(windows)
        x, y = pairs[:, :-1].contiguous(), pairs[:, 1:].contiguous()
        value, found = self._autograd(self._loss, x, y, self._masks(rng))
        targets = {name: torch.from_numpy(grad) for name, grad in grads.items()}
        torch._foreach_copy_(list(targets.values()), [found[name] for name in targets])
        return value

    def _masks(self, rng: np.random.Generator) -> Masks:
        """Return what dropout multiplies by; drawn by the shard's own generator, so compiled code draws nothing."""
        recipe, arch = self.recipe, self.recipe.arch
        if not recipe.dropout and not recipe.ngram_dropout:
            return ()
        generator = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        shape = (recipe.rows, arch.block, arch.dim)
        rates = [recipe.ngram_dropout] + [recipe.dropout] * (1 + 2 * arch.layers)
        return tuple(
            torch.empty(shape).bernoulli_(1 - rate, generator=generator).div_(1 - rate) if rate else None
            for rate in rates
        )

    def _autograd(
        self, function: Loss, x: torch.Tensor, y: torch.Tensor, masks: Masks
    ) -> tuple[float, dict[str, torch.Tensor]]:
        leaves = {name: value.detach().requires_grad_(True) for name, value in self._params.items()}
        loss = function(leaves, x, y, masks)
        found = torch.autograd.grad(loss, list(leaves.values()))
        return float(loss.detach()), dict(zip(leaves, found, strict=True))


def autograd_loss(arch: Architecture, dtype: str) -> Loss:
    """Return the loss as a function of the parameters, in the given precision."""
    choices = asdict(arch)

    def loss(
        params: Mapping[str, torch.Tensor],
        x: torch.Tensor,
        y: torch.Tensor,
        masks: Sequence[torch.Tensor | None],
    ) -> torch.Tensor:
        context: AbstractContextManager[Any] = nullcontext()
        if dtype == "bfloat16":
            context = torch.autocast("cpu", torch.bfloat16)
        with context:
            found = portable_model.forward(params, choices, x, masks)
            return torch.nn.functional.cross_entropy(found.view(-1, arch.vocab), y.reshape(-1))

    return loss


def try_to_compile(loss: Loss, cache: Path, warm_up: Callable[[Loss], object]) -> Loss | None:
    """Return the compiled loss after a first call of it, or None where no compiler works.

    Args:
        loss: What to compile.
        cache: Folder for compiled code; what is in ``inductor`` below it is thrown away after an error.
        warm_up: Calls the compiled loss with a batch of the real shape, forward and backward.
    """
    inside = cache / "inductor"
    for _ in range(2):
        try:
            with _turn(cache):
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(inside)
                compiled: Loss = torch.compile(loss, dynamic=False)
                warm_up(compiled)
                return compiled
        except Exception:  # compilers, and the loaders of what they made, raise anything
            shutil.rmtree(inside, ignore_errors=True)
            torch.compiler.reset()
    return None


@contextmanager
def _turn(cache: Path) -> Iterator[None]:
    cache.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(cache / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
