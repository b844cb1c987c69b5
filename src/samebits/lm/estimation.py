"""What a run will need, before it starts: parameters, memory, arithmetic, and the time at a measured speed."""

from __future__ import annotations

from dataclasses import dataclass

from samebits.core import clock
from samebits.lm.config import LmConfig
from samebits.lm.job import prepare
from samebits.lm.run_settings import Recipe

__all__ = ["Estimate", "estimate"]

TORCH_BYTES = 230_000_000  # resident after importing torch, shared between workers in part
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
        worker_bytes: Of each worker on top: torch itself and the buffers of its passes.
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
        worker_bytes=TORCH_BYTES + _buffer_bytes(recipe),
        flops=flops,
        flops_per_second=speed,
        seconds_one_core=flops / (0.6 * speed),  # the share that training reaches on the preset
    )


def _buffer_bytes(recipe: Recipe) -> int:
    """Return the bytes of the buffers that ``passes`` makes."""
    arch, num = recipe.arch, recipe.rows * recipe.arch.block
    hidden = (3 if arch.activation == "swiglu" else 2) * arch.hidden
    layer = 3 * arch.dim + 2 * arch.heads + 5 * arch.dim + hidden  # qkv, scales, two norms, three sums, MLP
    return 4 * num * (arch.layers * layer + arch.vocab + 8 * arch.dim + arch.hidden)


def _speed() -> float:
    """Return floating-point operations a second of one core in a product of matrices."""
    import torch

    threads, size = torch.get_num_threads(), 512
    torch.set_num_threads(1)
    a, b = torch.ones(size, size), torch.ones(size, size)
    started, done = clock.seconds(), 0
    while clock.seconds() - started < SECONDS_OF_SPEED:
        torch.mm(a, b)
        done += 1
    seconds = clock.seconds() - started
    torch.set_num_threads(threads)
    return done * 2 * size**3 / seconds
