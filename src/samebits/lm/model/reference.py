"""The model in plain autograd: the form that can be compiled, and that the written-out passes are tested against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional

from samebits.lm.model.arch import EPS, Architecture
from samebits.lm.model.passes import LAYER_EPS

__all__ = ["logits", "loss"]

Tensors = Mapping[str, torch.Tensor]
Rotation = tuple[torch.Tensor, torch.Tensor]


def logits(
    params: Tensors,
    x: torch.Tensor,
    arch: Architecture,
    rotation: Rotation,
    masks: Sequence[torch.Tensor] = (),
) -> torch.Tensor:
    """Return the logits (rows, length, vocab) of token ids (rows, length)."""
    rows, length = x.shape
    stream = functional.embedding(x, params["wte"])
    if arch.positions == "learned":
        stream = stream + params["wpe"][:length]
    if arch.norm == "rms":
        stream = _norm(stream, params, "", arch)
    stream = _drop(stream, masks, 0)
    for number in range(arch.layers):
        at = f"h{number}."
        hidden = _norm(stream, params, at + "norm1", arch)
        qkv = functional.linear(hidden, params[at + "qkv"].reshape(-1, arch.dim))
        attended = _attend(qkv, arch, rotation).reshape(rows, length, arch.dim)
        stream = stream + _drop(functional.linear(attended, params[at + "o"]), masks, 1 + 2 * number)
        hidden = _mlp(_norm(stream, params, at + "norm2", arch), params, at, arch)
        stream = stream + _drop(hidden, masks, 2 + 2 * number)
    return functional.linear(_norm(stream, params, "norm", arch), params["wte" if arch.tied else "head"])


def loss(
    params: Tensors,
    x: torch.Tensor,
    y: torch.Tensor,
    arch: Architecture,
    rotation: Rotation,
    masks: Sequence[torch.Tensor] = (),
) -> torch.Tensor:
    """Return the mean loss of a batch."""
    found = logits(params, x, arch, rotation, masks)
    return functional.cross_entropy(found.view(-1, arch.vocab), y.reshape(-1))


def _drop(x: torch.Tensor, masks: Sequence[torch.Tensor], number: int) -> torch.Tensor:
    return x * masks[number].view_as(x) if masks else x


def _norm(x: torch.Tensor, params: Tensors, name: str, arch: Architecture) -> torch.Tensor:
    if arch.norm == "rms":
        return functional.rms_norm(x, (x.shape[-1],), eps=EPS)
    return functional.layer_norm(x, (arch.dim,), params[name], None, LAYER_EPS)


def rotate(x: torch.Tensor, rotation: Rotation) -> torch.Tensor:
    """Turn the pairs (j, j + half) of each head by the angle of its position."""
    cos, sin = (table[: x.shape[-2]] for table in rotation)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _attend(qkv: torch.Tensor, arch: Architecture, rotation: Rotation) -> torch.Tensor:
    rows, length, _ = qkv.shape
    q, k, v = (
        part.reshape(rows, length, arch.heads, arch.head_dim).transpose(1, 2) for part in qkv.chunk(3, -1)
    )
    if arch.qk_norm:
        q, k = (functional.rms_norm(part, (arch.head_dim,), eps=EPS) for part in (q, k))
    if arch.positions == "rope":
        q, k = rotate(q, rotation), rotate(k, rotation)
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def _mlp(hidden: torch.Tensor, params: Tensors, at: str, arch: Architecture) -> torch.Tensor:
    up = functional.linear(hidden, params[at + "up"])
    if arch.activation == "gelu":
        acted = functional.gelu(up)
    elif arch.activation == "relu2":
        acted = functional.relu(up).square()
    else:
        acted = functional.silu(functional.linear(hidden, params[at + "gate"])) * up
    return functional.linear(acted, params[at + "down"])
