"""A model of your own on samebits' arithmetic: the same weights for 1, 2 and 3 workers, with any instruction set, on any CPU."""

import os
from typing import Any

import numpy as np

import samebits
from samebits import arithmetic
from samebits.arithmetic.functions import normal
from samebits.arithmetic.network import First, Loss, Network, matrix, zeros

x = normal(samebits.rng_for(0, "example"), (512, 2)).astype(np.float32)
y = ((x[:, 0] * x[:, 1] > 0) + 2 * (x[:, 0] > 0)).astype(np.int64)  # the quadrant


class Quadrants:
    """Two layers and a softmax."""

    def parameters(self) -> dict[str, First]:
        """Say how each parameter begins."""
        return {"in": matrix(32, 2), "in.bias": zeros(32), "out": matrix(4, 32), "out.bias": zeros(4)}

    def loss(self, network: Network, batch: Any) -> Loss:
        """Return the mean loss of a batch."""
        points, labels = batch
        hidden = network.tanh(network.linear(network.rows(points), "in", "in.bias"))
        logits = network.linear(network.dropout(hidden, 0.1), "out", "out.bias")
        return network.cross_entropy(logits, labels)


for workers, isa in (
    ("1", arithmetic.usable()[0]),
    ("2", arithmetic.usable()[-1]),
    ("3", arithmetic.usable()[0]),
):
    os.environ["SAMEBITS_ISA"] = isa
    options = samebits.RunOptions(workers=workers)
    result = samebits.fit(Quadrants(), (x, y), batch=64, steps=60, lr=0.02, options=options)
    print(f"{workers} worker(s), {isa}: loss {result.losses[-1]:.4f}, digest {result.digest[:16]}")
