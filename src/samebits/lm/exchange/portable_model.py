"""The model in plain torch, for programs without samebits. Needs torch and safetensors, nothing else.

``samebits lm export --format safetensors`` writes this file as ``load.py`` beside the weights:

model = load("folder")
logits = model(torch.tensor([[1, 2, 3]]))        # (rows, length, vocab)
"""

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from safetensors.torch import load_file
from torch.nn import functional


def load(folder: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the model as a function from token ids (rows, length) to logits."""
    place = pathlib.Path(folder)
    arch = json.loads((place / "config.json").read_text())["architecture"]
    params = load_file(place / "model.safetensors")
    return lambda x: forward(params, arch, x)


def norm(x: torch.Tensor, arch: dict[str, Any], weight: torch.Tensor | None) -> torch.Tensor:
    """RMS norm without weights, or LayerNorm."""
    if arch["norm"] == "rms":
        return functional.rms_norm(x, (x.shape[-1],), eps=1e-6)
    return functional.layer_norm(x, (x.shape[-1],), weight, None, 1e-5)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Turn the pairs (j, j + half) of each head by the angle of its position."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(0, 2 * half, 2, dtype=torch.float64) / (2 * half))
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def ngram(x: torch.Tensor, table: torch.Tensor, length: int, vocab: int) -> torch.Tensor:
    """Rows by the last tokens: their number in the base of the vocabulary, or a hash where the table is smaller."""
    rows, number, hashed = len(table), torch.zeros_like(x), torch.zeros_like(x)
    for back in range(length - 1, -1, -1):
        earlier = functional.pad(x, (back, 0))[:, : x.shape[1]]
        number = number * vocab + earlier
        hashed = hashed + earlier * (1540483477, 2246822519, 374761393, 668265263)[back]
    row = number if vocab**length <= rows else hashed % 2147483647 % rows
    there = torch.arange(x.shape[1]) >= length - 1
    return functional.embedding(row, table) * there[:, None]


def attend(qkv: torch.Tensor, arch: dict[str, Any]) -> torch.Tensor:
    """Causal attention over all heads."""
    rows, length, width = qkv.shape
    q, k, v = qkv.view(rows, length, 3, arch["heads"], -1).permute(2, 0, 3, 1, 4)
    if arch["qk_norm"]:
        q, k = (functional.rms_norm(part, (part.shape[-1],), eps=1e-6) for part in (q, k))
    if arch["positions"] == "rope":
        q, k = rotate(q), rotate(k)
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).reshape(rows, length, width // 3)


def forward(
    params: Mapping[str, torch.Tensor],
    arch: dict[str, Any],
    x: torch.Tensor,
    masks: Sequence[torch.Tensor | None] = (),
) -> torch.Tensor:
    """Return logits; in training, ``masks`` are what dropout multiplies by: for n-grams, the embedding, and two a layer."""

    def drop(x: torch.Tensor, number: int) -> torch.Tensor:
        mask = masks[number] if masks else None
        return x if mask is None else x * mask

    stream = functional.embedding(x, params["wte"])
    if arch["positions"] == "learned":
        stream = stream + params["wpe"][: x.shape[1]]
    if arch.get("ngrams", 1) > 1:
        rows = ngram(x, params["ngram2"], 2, arch["vocab"])
        for length in range(3, arch["ngrams"] + 1):
            rows = rows + ngram(x, params[f"ngram{length}"], length, arch["vocab"])
        stream = stream + drop(rows, 0)
    if arch["norm"] == "rms":
        stream = norm(stream, arch, None)
    stream = drop(stream, 1)
    for number in range(arch["layers"]):
        p = {
            name.partition(".")[2]: value for name, value in params.items() if name.startswith(f"h{number}.")
        }
        qkv = functional.linear(norm(stream, arch, p.get("norm1")), p["qkv"].flatten(0, 1))
        stream = stream + drop(functional.linear(attend(qkv, arch), p["o"]), 2 + 2 * number)
        hidden = norm(stream, arch, p.get("norm2"))
        up = functional.linear(hidden, p["up"])
        if arch["activation"] == "gelu":
            up = functional.gelu(up)
        elif arch["activation"] == "relu2":
            up = functional.relu(up).square()
        else:
            up = functional.silu(functional.linear(hidden, p["gate"])) * up
        stream = stream + drop(functional.linear(up, p["down"]), 3 + 2 * number)
    return functional.linear(
        norm(stream, arch, params.get("norm")), params["wte" if arch["tied"] else "head"]
    )
