"""What a run will need, before it starts: parameters, memory, arithmetic, and the time at a measured speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samebits.arithmetic.matrices import product
from samebits.core.observing import clock
from samebits.lm.config import LmConfig
from samebits.lm.job import prepare
from samebits.lm.model.definition import record
from samebits.lm.run_settings import RunSettings

__all__ = ["Estimate", "estimate"]

WORKER_BYTES = 45_000_000  # Python, NumPy and this package, resident in a worker
TORCH_BYTES = 230_000_000  # what torch adds, shared between workers in part
NUM_STATES = 3  # weights and two moments
SECONDS_OF_SPEED = 0.3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run needs.

    Attributes:
        parameters: Numbers that are learned.
        train_tokens: Tokens of the training part.
        val_tokens: Tokens of the validation part.
        steps: Updates.
        epochs: How often the training part is seen.
        shared_bytes: Weights, moments and one gradient a shard, once for all workers.
        worker_bytes: Of each worker on top: Python, the buffers of the model, and torch where it computes.
        flops: Floating-point operations of all steps.
        flops_per_second: Of one core, measured on a product of matrices.
        seconds_one_core: All steps at 60 % of that speed on one core.
    """

    parameters: int
    train_tokens: int
    val_tokens: int
    steps: int
    epochs: float
    shared_bytes: int
    worker_bytes: int
    flops: int
    flops_per_second: float
    seconds_one_core: float


def estimate(config: LmConfig) -> Estimate:
    """Open the data, look at the settings, time a product of matrices for a moment; start nothing."""
    source, recipe = prepare(config)
    tokens = source.load()
    arch, steps = recipe.arch, recipe.fit.steps
    flops = arch.flops_per_token * recipe.tokens_per_step * steps
    speed = _speed()
    return Estimate(
        parameters=arch.num_parameters,
        train_tokens=len(tokens.train),
        val_tokens=len(tokens.val),
        steps=steps,
        epochs=steps * recipe.tokens_per_step / len(tokens.train),
        shared_bytes=4 * arch.num_parameters * (NUM_STATES + recipe.fit.shards),
        worker_bytes=WORKER_BYTES + _buffer_bytes(recipe),
        flops=flops,
        flops_per_second=speed,
        seconds_one_core=flops / (0.6 * speed),  # the share that training reaches on the preset
    )


def _buffer_bytes(recipe: RunSettings) -> int:
    """Return the bytes of the buffers of one worker: pages that nobody writes to cost nothing here."""
    params = {tensor.name: np.empty(tensor.shape, np.float32) for tensor in recipe.arch.tensors()}
    portable = recipe.arithmetic == "portable"
    program = record(
        recipe.arch,
        params,
        windows=recipe.rows,
        dropout=recipe.dropout,
        ngram_dropout=recipe.ngram_dropout,
        gradients=portable,
    )
    return program.num_bytes if portable else 2 * program.num_bytes + TORCH_BYTES


def _speed() -> float:
    """Return floating-point operations a second of one core in a product of matrices."""
    size = 512
    a = np.ones((size, size), np.float32)
    out = np.empty_like(a)
    started, done = clock.seconds(), 0
    while clock.seconds() - started < SECONDS_OF_SPEED:
        product(a, a, out=out)
        done += 1
    return done * 2 * size**3 / (clock.seconds() - started)
