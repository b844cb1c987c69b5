"""Text from a model, token by token: keys and values of earlier tokens are kept, so a token costs one column.

Keys are stored after their rotation. When the context is full, the last half of it is read again from its start, for
learned positions and for rotated ones alike: angles beyond the trained length would be new to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from samebits.lm.model.arch import EPS, Architecture
from samebits.lm.model.passes import LAYER_EPS, rotation
from samebits.lm.text.sampling import Draw

__all__ = ["Cache", "generate"]

Tensors = Mapping[str, torch.Tensor]


class Cache:
    """Keys and values of one sequence."""

    def __init__(self, arch: Architecture, params: Tensors) -> None:
        self.arch, self.params = arch, params
        self.tables = rotation(arch.block, arch.head_dim)
        shape = (arch.layers, 2, arch.heads, arch.block, arch.head_dim)
        self.kept = torch.zeros(shape)
        self.length = 0

    @torch.no_grad()
    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Take more tokens and return the logits after the last one.

        Raises:
            ValueError: if they do not fit into the context; ``generate`` starts it anew before that.
        """
        arch, params, start = self.arch, self.params, self.length
        stop = start + len(ids)
        if not start < stop <= arch.block:
            raise ValueError(f"{len(ids)} tokens after {start} in a context of {arch.block}")
        stream = params["wte"][torch.tensor(list(ids))]
        if arch.positions == "learned":
            stream = stream + params["wpe"][start:stop]
        if arch.norm == "rms":
            stream = self._norm(stream, "")
        for number in range(arch.layers):
            stream = self._layer(number, stream, start, stop)
        self.length = stop
        last = self._norm(stream[-1:], "norm")
        found: NDArray[np.float32] = (last @ params["wte" if arch.tied else "head"].t())[0].numpy()
        return found

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        if self.arch.norm == "rms":
            return functional.rms_norm(x, (self.arch.dim,), eps=EPS)
        return functional.layer_norm(x, (self.arch.dim,), self.params[name], None, LAYER_EPS)

    def _layer(self, number: int, stream: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        arch, params, at = self.arch, self.params, f"h{number}."
        qkv = self._norm(stream, at + "norm1") @ params[at + "qkv"].view(-1, arch.dim).t()
        q, k, v = qkv.view(stop - start, 3, arch.heads, arch.head_dim).permute(1, 2, 0, 3)
        q, k = self._turned(q, start, stop), self._turned(k, start, stop)
        self.kept[number, 0, :, start:stop], self.kept[number, 1, :, start:stop] = k, v
        keys, values = self.kept[number, :, :, :stop]
        seen = torch.ones(stop - start, stop, dtype=torch.bool).tril(start)
        out = functional.scaled_dot_product_attention(q[None], keys[None], values[None], attn_mask=seen)[0]
        stream = stream + out.transpose(0, 1).reshape(stop - start, arch.dim) @ params[at + "o"].t()
        return stream + self._mlp(self._norm(stream, at + "norm2"), at)

    def _turned(self, x: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        if self.arch.qk_norm:
            x = functional.rms_norm(x, (self.arch.head_dim,), eps=EPS)
        if self.arch.positions != "rope":
            return x
        cos, sin = (table[start:stop] for table in self.tables)
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def _mlp(self, hidden: torch.Tensor, at: str) -> torch.Tensor:
        up = hidden @ self.params[at + "up"].t()
        if self.arch.activation == "gelu":
            acted = functional.gelu(up)
        elif self.arch.activation == "relu2":
            acted = functional.relu(up).square()
        else:
            acted = functional.silu(hidden @ self.params[at + "gate"].t()) * up
        return acted @ self.params[at + "down"].t()


def generate(
    arch: Architecture, params: Tensors, prompt: Sequence[int], *, tokens: int, draw: Draw
) -> Iterator[int]:
    """Yield new ids one by one.

    Args:
        arch: The model's shape.
        params: Its weights.
        prompt: Ids to go on from; the last ``block`` of them are read. An empty prompt starts from id 0.
        tokens: How many to make.
        draw: How to choose.
    """
    ids = list(prompt) or [0]
    cache = Cache(arch, params)
    fresh: Sequence[int] = ids[-arch.block :]
    for _ in range(tokens):
        if cache.length + len(fresh) > arch.block:
            cache = Cache(arch, params)
            fresh = ids[-max(1, arch.block // 2) :]
        token = draw.next(cache.read(fresh), len(ids))
        ids.append(token)
        fresh = [token]
        yield token
