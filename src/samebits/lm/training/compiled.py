"""The compiled form of the loss: a cache of the run's own, and one worker after the other.

A compiler that was killed can leave half of a file that later runs trip over, so the cache belongs to one run and is thrown
away on the first error. Workers take turns: the first compiles, the others find it done.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from samebits.lm.model import reference
from samebits.lm.model.arch import Architecture
from samebits.lm.model.passes import rotation

__all__ = ["Loss", "autograd_loss", "try_to_compile"]

Loss = Callable[..., torch.Tensor]


def autograd_loss(arch: Architecture, dtype: str) -> Loss:
    """Return the loss as a function of the parameters, in the given precision."""
    tables = rotation(arch.block, arch.head_dim)

    def loss(
        params: Mapping[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor, masks: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        context: AbstractContextManager[Any] = nullcontext()
        if dtype == "bfloat16":
            context = torch.autocast("cpu", torch.bfloat16)
        with context:
            return reference.loss(params, x, y, arch, tables, masks)

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
