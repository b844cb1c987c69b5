"""The one definition of the model: against autograd in double, against a plain GPT, and the same bits everywhere."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from samebits import arithmetic
from samebits.arithmetic.recording import tape
from samebits.arithmetic.selftest import numbers
from samebits.lm.exchange import portable_model
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lm.model.definition import record

SHORT: dict[str, Any] = {"vocab": 11, "layers": 2, "heads": 2, "dim": 16, "block": 6}
LONG: dict[str, Any] = {"vocab": 70, "layers": 2, "heads": 3, "dim": 60, "block": 150}
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
    # rows by up to four tokens: of 11 ids one row a pair, else hashed
    "several tokens": {**BLOCKS["modern"], "ngrams": 4, "ngram_rows": 121},
    "learned rms": {**BLOCKS["modern"], "positions": "learned", "qk_norm": False, "activation": "gelu"},
}
GOLDEN = {
    "classic": "e53d4bdbec088b46a6f678065dd1ad34",
    "modern": "8f8a6b8dd454ac020a0ab940d00259df",
}  # of loss and gradients, with dropout; every machine must give them
ROWS = 3
Arrays = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


def weights(arch: Architecture) -> Arrays:
    found = {}
    for n, tensor in enumerate(arch.tensors()):
        level = 1.0 if tensor.kind == "vector" else 0.0
        found[tensor.name] = numbers(*tensor.shape, salt=n) * np.float32(0.3) + np.float32(level)
    return found


def batch(arch: Architecture) -> tuple[Any, Any]:
    ids = np.arange(ROWS * (arch.block + 1), dtype=np.int64).reshape(ROWS, -1) * 7919 % arch.vocab
    return np.ascontiguousarray(ids[:, :-1]), np.ascontiguousarray(ids[:, 1:])


def gradient(arch: Architecture, params: Arrays, *, dropout: float = 0.0) -> tuple[float, Arrays]:
    grads = {name: np.full_like(value, math.nan) for name, value in params.items()}
    program = record(arch, params, windows=ROWS, gradients=True, dropout=dropout)
    return program.gradient(*batch(arch), grads, key=77 if dropout else 0), grads


@pytest.mark.parametrize("sizes", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_gradient_is_that_of_autograd_in_double(name: str, sizes: dict[str, Any]) -> None:
    arch = Architecture(**sizes, **VARIANTS[name])
    params = weights(arch)
    loss, grads = gradient(arch, params)
    expected, exact = by_autograd(arch, params, torch.float64)
    _, single = by_autograd(arch, params, torch.float32)
    assert abs(loss - expected) < 3e-7 * loss
    for key, wanted in exact.items():
        ours, torchs = (
            np.linalg.norm(found[key] - wanted) / np.linalg.norm(wanted) for found in (grads, single)
        )
        assert ours < 4 * torchs + 1e-7, key  # rounding of float32, as torch's own
        assert ours < 1e-4, key


@pytest.mark.parametrize("name", VARIANTS)
def test_how_many_windows_go_together_changes_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arch = Architecture(**SHORT, **VARIANTS[name])
    found = set()
    for tokens in (32, 64, 96):  # one window, two and one, all three
        monkeypatch.setattr(tape, "CHUNK", tokens)
        loss, grads = gradient(arch, weights(arch), dropout=0.1)
        found.add(np.float64(loss).tobytes() + b"".join(grad.tobytes() for grad in grads.values()))
    assert len(found) == 1


def test_rows_by_several_tokens_are_dropped_on_their_own_and_learn_what_was_kept() -> None:
    arch = Architecture(**SHORT, **VARIANTS["several tokens"])
    params = weights(arch)
    grads = {name: np.zeros_like(value) for name, value in params.items()}
    program = record(arch, params, windows=ROWS, gradients=True, ngram_dropout=0.4)
    whole = program.gradient(*batch(arch), grads)
    loss = program.gradient(*batch(arch), grads, key=77)
    assert loss != whole == gradient(arch, params)[0]
    for name in ("wte", "ngram2", "ngram3", "ngram4"):  # a small step along the gradient rises as it says
        params[name] += np.float32(1e-2) * grads[name]
        program.pack()
        rise = (
            program.gradient(
                *batch(arch), {key: np.zeros_like(value) for key, value in params.items()}, key=77
            )
            - loss
        )
        params[name] -= np.float32(1e-2) * grads[name]
        assert rise == pytest.approx(1e-2 * np.sum(grads[name].astype(float) ** 2), rel=0.05), name


def by_autograd(arch: Architecture, params: Arrays, dtype: Any) -> tuple[float, dict[str, Any]]:
    leaves = {key: torch.from_numpy(value).to(dtype).requires_grad_(True) for key, value in params.items()}
    x, y = (torch.from_numpy(part) for part in batch(arch))
    logits = portable_model.forward(leaves, asdict(arch), x)
    loss = functional.cross_entropy(logits.view(-1, arch.vocab), y.reshape(-1))
    found = torch.autograd.grad(loss, list(leaves.values()))
    return float(loss.detach()), {key: grad.double().numpy() for key, grad in zip(leaves, found, strict=True)}


@pytest.mark.parametrize("isa", arithmetic.usable())
@pytest.mark.parametrize("block", GOLDEN)
def test_loss_and_gradients_have_the_committed_bits(block: str, isa: str) -> None:
    arch = Architecture(vocab=33, layers=2, heads=2, dim=32, block=40, **BLOCKS[block])
    before = arithmetic.isa()
    arithmetic.use(isa)
    try:
        loss, grads = gradient(arch, weights(arch), dropout=0.1)
    finally:
        arithmetic.use(before)
    hasher = hashlib.sha256(np.array([loss], "<f8").tobytes())
    for name in sorted(grads):
        hasher.update(grads[name].astype("<f4").tobytes())
    assert hasher.hexdigest()[:32] == GOLDEN[block]


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
    ours = weights(arch)
    params = {name: torch.from_numpy(value) for name, value in ours.items()}
    blocks = [PlainBlock(arch.dim, arch.heads) for _ in range(arch.layers)]
    x, _ = batch(arch)
    with torch.no_grad():
        for number, block in enumerate(blocks):
            at = f"h{number}."
            block.attend.weight.copy_(params[at + "qkv"].view(-1, arch.dim))
            for module, key in ((block.out, "o"), (block.up, "up"), (block.down, "down")):
                module.weight.copy_(params[at + key])
            block.first.weight.copy_(params[at + "norm1"])
            block.second.weight.copy_(params[at + "norm2"])
        stream = params["wte"][torch.from_numpy(x)] + params["wpe"]
        for block in blocks:
            stream = block(stream)
        plain = (functional.layer_norm(stream, (arch.dim,), params["norm"]) @ params["wte"].t()).numpy()
    program = record(arch, ours)
    for row, wanted in zip(x, plain, strict=True):
        assert np.abs(program.logits(row) - wanted).max() < 1e-5 * np.abs(plain).max()


def test_the_same_batch_gives_the_same_bits_whatever_was_computed_before() -> None:
    arch = Architecture(vocab=65, layers=2, heads=2, dim=32, block=16, **BLOCKS["modern"])
    params = weights(arch)
    program = record(arch, params, windows=ROWS, gradients=True)
    x, y = batch(arch)
    grads = [{name: np.full_like(value, math.nan) for name, value in params.items()} for _ in range(2)]
    losses = []
    for target in grads:
        losses.append(program.gradient(x, y, target))
        program.sum_of_losses(y, x)  # leaves other values in every buffer
    assert losses[0] == losses[1]
    assert all(np.array_equal(grads[0][name], grads[1][name]) for name in params)


def test_dropout_is_off_where_losses_are_measured() -> None:
    arch = Architecture(**SHORT, **BLOCKS["modern"])
    params = weights(arch)
    plain, dropping = (record(arch, params, windows=ROWS, dropout=rate) for rate in (0.0, 0.3))
    assert plain.sum_of_losses(*batch(arch)) == dropping.sum_of_losses(*batch(arch))
