"""Train a torch module on 1 and on 2 worker processes, and compare every bit."""

from typing import Any

import numpy as np
import torch

import samebits
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.torch_objective import TorchObjective

x = samebits.rng_for(0, "example").uniform(-3, 3, (512, 1)).astype(np.float32)


def make() -> torch.nn.Module:
    """Return the module; its first values come from the run's seed."""
    return torch.nn.Sequential(
        torch.nn.Linear(1, 64), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1)
    )


def loss(module: Any, batch: Any) -> torch.Tensor:
    """Return the mean loss of a batch."""
    return torch.nn.functional.mse_loss(module(batch[0]), batch[1])


objective, data = TorchObjective(make, loss), ArrayBatches(x, np.sin(x), batch=64)
for workers in ("1", "2"):
    result = samebits.fit(objective, data, steps=50, lr=0.01, options=samebits.RunOptions(workers=workers))
    print(f"{workers} worker(s): loss {result.losses[-1]:.4f}, digest {result.digest[:16]}")
