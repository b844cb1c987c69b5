"""Train a logistic regression written in NumPy on 1 and on 2 worker processes, and compare every bit."""

from typing import Any

import numpy as np

import samebits
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.function_objective import FunctionObjective

rng = samebits.rng_for(0, "example")
features = rng.standard_normal((1000, 20), dtype=np.float32)
labels = (features @ rng.standard_normal(20) > 0).astype(np.float32)


def logistic(weights: Any, batch: Any, rng: Any) -> tuple[Any, Any]:
    """Return the mean loss of a batch and its gradient."""
    x, y = batch
    p = 1 / (1 + np.exp(-(x @ weights)))
    return -np.log(np.where(y > 0, p, 1 - p) + 1e-9).mean(), x.T @ (p - y) / len(y)


objective, data = FunctionObjective(logistic, np.zeros(20)), ArrayBatches(features, labels, batch=64)
for workers in ("1", "2"):
    result = samebits.fit(objective, data, steps=100, lr=0.05, options=samebits.RunOptions(workers=workers))
    print(f"{workers} worker(s): loss {result.losses[-1]:.4f}, digest {result.digest[:16]}")
