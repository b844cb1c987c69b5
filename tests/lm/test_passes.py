"""The written-out passes: against autograd, against finite differences, and against a plain GPT with copied weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from samebits.lm.model import reference
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lm.model.passes import Passes, rotation

SIZES: dict[str, Any] = {"vocab": 11, "layers": 2, "heads": 2, "dim": 16, "block": 6}
SHORT: dict[str, Any] = {
    **SIZES,
    "dim": 32,
    "block": 21,
}  # heads of 16: the kernel for short heads, tiles not full
VARIANTS: dict[str, dict[str, Any]] = {
    "classic": BLOCKS["classic"],
    "modern": BLOCKS["modern"],
    "llama": {**BLOCKS["modern"], "activation": "swiglu", "qk_norm": False},
    "tied modern": {**BLOCKS["modern"], "tied": True},
    "mixed": {
        **BLOCKS["classic"],
        "positions": "rope",
        "qk_norm": True,
        "activation": "relu2",
        "tied": False,
    },
    "learned rms": {**BLOCKS["modern"], "positions": "learned", "qk_norm": False, "activation": "gelu"},
}
ROWS = 3


def weights(arch: Architecture, dtype: Any = torch.float64) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    return {
        tensor.name: torch.randn(tensor.shape, generator=generator, dtype=torch.float64).mul(0.3).to(dtype)
        for tensor in arch.tensors()
    }


def batch(arch: Architecture) -> tuple[Any, Any]:
    ids = torch.randint(arch.vocab, (ROWS, arch.block + 1), generator=torch.Generator().manual_seed(2))
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def dropout_masks(arch: Architecture, share: float) -> tuple[Any, ...]:
    if not share:
        return ()
    generator = torch.Generator().manual_seed(3)
    shape = (1 + 2 * arch.layers, ROWS * arch.block, arch.dim)
    return tuple((torch.rand(shape, generator=generator) > share).double() / (1 - share))


def gradient(
    arch: Architecture, params: dict[str, Any], masks: tuple[Any, ...] = ()
) -> tuple[float, dict[str, Any]]:
    passes = Passes(arch, ROWS, torch.float64)
    grads = {name: torch.full_like(value, math.nan) for name, value in params.items()}
    x, y = batch(arch)
    loss = passes.loss(params, x, y, masks)
    passes.backward(params, grads, x, y)
    return loss, grads


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("sizes", [SIZES, SHORT], ids=["long heads", "short heads"])
def test_the_passes_agree_with_autograd_to_the_last_digits_of_a_double(
    name: str, share: float, sizes: dict[str, Any]
) -> None:
    arch = Architecture(**sizes, **VARIANTS[name])
    assert Passes(arch, ROWS).short is (sizes is SHORT)
    params, masks = weights(arch), dropout_masks(arch, share)
    loss, grads = gradient(arch, params, masks)
    leaves = {key: value.clone().requires_grad_(True) for key, value in params.items()}
    tables = rotation(arch.block, arch.head_dim, torch.float64)
    expected = reference.loss(leaves, *batch(arch), arch, tables, masks)
    found = torch.autograd.grad(expected, list(leaves.values()))
    assert abs(loss - float(expected.detach())) < 1e-14
    for key, value in zip(leaves, found, strict=True):
        assert float((grads[key] - value).abs().max()) < 1e-14, key


@pytest.mark.parametrize("name", ["classic", "modern", "llama"])
@pytest.mark.parametrize("sizes", [SIZES, SHORT], ids=["long heads", "short heads"])
def test_every_gradient_is_the_slope_of_the_loss(name: str, sizes: dict[str, Any]) -> None:
    arch = Architecture(**sizes, **VARIANTS[name])
    params = weights(arch)
    _, grads = gradient(arch, params)
    step, passes = 1e-6, Passes(arch, ROWS, torch.float64)
    for key, value in params.items():
        flat = value.view(-1)
        for at in (0, flat.numel() // 2, flat.numel() - 1):
            kept, losses = float(flat[at]), []
            for sign in (1, -1):
                flat[at] = kept + sign * step
                losses.append(passes.loss(params, *batch(arch)))
            flat[at] = kept
            slope = (losses[0] - losses[1]) / (2 * step)
            assert abs(slope - float(grads[key].view(-1)[at])) < 1e-8, f"{key}[{at}]"


class PlainBlock(nn.Module):
    """A GPT-2 block as tutorials write it: modules, and attention written out."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.attend, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x: Any) -> Any:
        rows, length, dim = x.shape
        parts = self.attend(self.first(x)).split(dim, dim=2)
        q, k, v = (part.view(rows, length, self.heads, dim // self.heads).transpose(1, 2) for part in parts)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(torch.ones(length, length).tril() == 0, float("-inf"))
        x = x + self.out((functional.softmax(scores, -1) @ v).transpose(1, 2).reshape(rows, length, dim))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def test_the_classic_block_is_a_plain_gpt_with_the_same_weights() -> None:
    arch = Architecture(vocab=65, layers=2, heads=4, dim=32, block=16, **BLOCKS["classic"])
    params = weights(arch, torch.float32)
    blocks = [PlainBlock(arch.dim, arch.heads) for _ in range(arch.layers)]
    with torch.no_grad():
        for number, block in enumerate(blocks):
            at = f"h{number}."
            block.attend.weight.copy_(params[at + "qkv"].view(-1, arch.dim))
            for module, key in ((block.out, "o"), (block.up, "up"), (block.down, "down")):
                module.weight.copy_(params[at + key])
            block.first.weight.copy_(params[at + "norm1"])
            block.second.weight.copy_(params[at + "norm2"])
        x, _ = batch(arch)
        stream = params["wte"][x] + params["wpe"]
        for block in blocks:
            stream = block(stream)
        plain = functional.layer_norm(stream, (arch.dim,), params["norm"]) @ params["wte"].t()
        ours = Passes(arch, ROWS).forward(params, x).view_as(plain)
    assert float((plain - ours).abs().max()) < 1e-5 * float(plain.abs().max())


def test_rows_that_are_missing_in_a_batch_are_not_counted() -> None:
    arch = Architecture(**SIZES, **BLOCKS["modern"])
    params = weights(arch)
    rng = np.random.Generator(np.random.Philox(key=4))
    windows = rng.integers(arch.vocab, size=(ROWS, arch.block + 1))
    passes = Passes(arch, ROWS, torch.float64)
    whole, num = passes.sum_loss(params, windows)
    parts = [passes.sum_loss(params, windows[:2]), passes.sum_loss(params, windows[2:])]
    assert num == ROWS * arch.block == sum(count for _, count in parts)
    assert abs(sum(loss for loss, _ in parts) - whole) < 1e-12


def test_the_same_batch_gives_the_same_bits_whatever_was_computed_before() -> None:
    arch = Architecture(vocab=65, layers=2, heads=2, dim=32, block=16, **BLOCKS["modern"])
    params = weights(arch, torch.float32)
    passes = Passes(arch, ROWS)
    x, y = batch(arch)
    grads = [{name: torch.empty_like(value) for name, value in params.items()} for _ in range(2)]
    losses = []
    for target in grads:
        losses.append(passes.loss(params, x, y))
        passes.backward(params, target, x, y)
        passes.loss(params, y, x)  # leaves other values in every buffer
    assert losses[0] == losses[1]
    assert all(torch.equal(grads[0][name], grads[1][name]) for name in params)
