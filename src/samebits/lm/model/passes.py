"""The forward and backward pass of one shard, written out, on one thread.

torch's autograd would do the same sums. Written out, every buffer is made once and used for all steps (no page is asked
for twice), gradients are written straight into the shared buffer (no copy), q, k and v come from one product, the
residual sum is part of the product before it, and norm and rotation of the heads are one pass. For the preset that is
a quarter of the time of a step; ``reference.py`` says the same in plain autograd, and the tests hold both together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from samebits.kernels.lm.attention import attention_backward, attention_forward
from samebits.kernels.lm.gelu import gelu_forward
from samebits.kernels.lm.norms import heads_backward, heads_forward, rms_backward, rms_forward
from samebits.lm.model.arch import EPS, Architecture

__all__ = ["Passes", "rotation"]

Tensors = Mapping[str, torch.Tensor]
LAYER_EPS = 1e-5
SHORT_BLOCK = 64  # positions up to which the kernel for short heads beats torch's: 1.0 against 1.7 ms a layer of the preset
_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def rotation(
    length: int, head_dim: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines (length, head_dim / 2), computed in double so that every machine rounds them alike."""
    rates = 10000.0 ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = np.arange(length)[:, None] * rates[None, :]
    return torch.from_numpy(np.cos(angles)).to(dtype), torch.from_numpy(np.sin(angles)).to(dtype)


class _Norm:
    """One norm: RMS without weights by the kernel, or LayerNorm by torch."""

    def __init__(self, passes: Passes, weight: str) -> None:
        self.weight = weight if passes.arch.norm == "layer" else ""
        self.dim = passes.arch.dim
        self.out = passes.buffer(passes.num, self.dim)
        self.scale = passes.buffer(passes.num)
        self.saved: tuple[torch.Tensor, ...] = ()

    def forward(self, x: torch.Tensor, params: Tensors) -> torch.Tensor:
        if self.weight:
            self.out, mean, scale = torch.native_layer_norm(
                x, [self.dim], params[self.weight], None, LAYER_EPS
            )
            self.saved = (x, mean, scale)
        else:
            rms_forward(x.numpy(), self.out.numpy(), self.scale.numpy(), EPS)
        return self.out

    def backward(self, grad: torch.Tensor, grad_x: torch.Tensor, params: Tensors, grads: Tensors) -> None:
        """Add to ``grad_x``."""
        if not self.weight:
            rms_backward(grad.numpy(), self.out.numpy(), self.scale.numpy(), grad_x.numpy())
            return
        x, mean, scale = self.saved
        mask = [True, True, False]
        weight = params[self.weight]
        dx, dw, _ = torch.ops.aten.native_layer_norm_backward(
            grad, x, [self.dim], mean, scale, weight, None, mask
        )
        grads[self.weight].copy_(dw)
        grad_x.add_(dx)


class _ShortAttention:
    """Causal attention by the kernel for short heads; keeps the probabilities."""

    def __init__(self, passes: Passes) -> None:
        arch, width = passes.arch, -(-passes.arch.block // 16) * 16
        self.heads, self.scale = arch.heads, arch.head_dim**-0.5
        self.probs = passes.buffer(passes.rows * arch.heads, arch.block, width)
        self.out = passes.buffer(passes.num, arch.dim)

    def forward(self, qkv: torch.Tensor) -> torch.Tensor:
        attention_forward(qkv.numpy(), self.heads, self.scale, self.probs.numpy(), self.out.numpy())
        return self.out

    def backward(self, grad: torch.Tensor, qkv: torch.Tensor, grad_qkv: torch.Tensor) -> None:
        """Overwrite ``grad_qkv``."""
        probs = self.probs.numpy()
        attention_backward(grad.numpy(), qkv.numpy(), self.heads, self.scale, probs, grad_qkv.numpy())


class _LongAttention:
    """Causal attention by torch's kernel, which keeps one number a row instead of the probabilities."""

    def __init__(self, passes: Passes) -> None:
        self.shape = (passes.rows, passes.arch.block, passes.arch.heads, passes.arch.head_dim)
        self.saved: tuple[torch.Tensor, ...] = ()

    def _heads(self, flat: torch.Tensor) -> torch.Tensor:
        """View (tokens, dim) as (rows, heads, block, head_dim)."""
        return flat.view(self.shape).transpose(1, 2)

    def _flat(self, heads: torch.Tensor) -> torch.Tensor:
        rows, block, num_heads, size = self.shape
        return heads.transpose(1, 2).reshape(rows * block, num_heads * size)

    def forward(self, qkv: torch.Tensor) -> torch.Tensor:
        q, k, v = (self._heads(part) for part in torch.chunk(qkv, 3, 1))
        out, sums = _flash(q, k, v, 0.0, True)
        self.saved = (q, k, v, out, sums)
        self.out = self._flat(out)
        return self.out

    def backward(self, grad: torch.Tensor, _qkv: torch.Tensor, grad_qkv: torch.Tensor) -> None:
        """Overwrite ``grad_qkv``."""
        pieces = _flash_backward(self._heads(grad), *self.saved, 0.0, True)
        torch.cat([self._flat(piece) for piece in pieces], 1, out=grad_qkv)


class _Layer:
    """Buffers that one layer keeps from its forward to its backward pass."""

    def __init__(self, passes: Passes, number: int) -> None:
        arch, num = passes.arch, passes.num
        self.at = f"h{number}."
        self.norm1, self.norm2 = _Norm(passes, self.at + "norm1"), _Norm(passes, self.at + "norm2")
        self.qkv = passes.buffer(num, 3 * arch.dim)
        self.scale = passes.buffer(num, 2 * arch.heads)
        self.middle, self.out = passes.buffer(num, arch.dim), passes.buffer(num, arch.dim)
        self.up, self.acted = passes.buffer(num, arch.hidden), passes.buffer(num, arch.hidden)
        self.gate = passes.buffer(num if arch.activation == "swiglu" else 0, arch.hidden)
        self.attention = _ShortAttention(passes) if passes.short else _LongAttention(passes)
        self.masks: tuple[torch.Tensor, ...] = ()


class Passes:
    """Both passes for shards of ``rows`` windows; holds the buffers of one worker."""

    def __init__(self, arch: Architecture, rows: int, dtype: torch.dtype = torch.float32) -> None:
        self.arch, self.rows, self.dtype = arch, rows, dtype
        self.num = rows * arch.block
        self.short = arch.block <= SHORT_BLOCK and arch.head_dim % 16 == 0
        self.layers = [_Layer(self, number) for number in range(arch.layers)]
        self.norm0, self.norm = _Norm(self, ""), _Norm(self, "norm")
        self.embedded = self.buffer(self.num, arch.dim)
        self.logits = self.buffer(self.num, arch.vocab)
        self.grad_x, self.grad_h = self.buffer(self.num, arch.dim), self.buffer(self.num, arch.dim)
        self.grad_qkv = self.buffer(self.num, 3 * arch.dim)
        self.grad_up = self.buffer(self.num, arch.hidden)
        self.masks: tuple[torch.Tensor, ...] = ()
        self.cos, self.sin = (table.numpy() for table in rotation(arch.block, arch.head_dim, dtype))

    def buffer(self, *shape: int) -> torch.Tensor:
        """Allocate once."""
        return torch.zeros(shape, dtype=self.dtype)

    @torch.no_grad()
    def loss(
        self, params: Tensors, x: torch.Tensor, y: torch.Tensor, masks: tuple[torch.Tensor, ...] = ()
    ) -> float:
        """Return the mean loss of a batch and leave what the backward pass needs."""
        self.forward(params, x, masks)
        torch._log_softmax(self.logits, 1, False, out=self.logits)
        picked = self.logits.gather(1, y.reshape(-1, 1))
        return -float(picked.sum(dtype=torch.float64)) / self.num

    @torch.no_grad()
    def sum_loss(self, params: Tensors, windows: NDArray[np.int64]) -> tuple[float, int]:
        """Return the sum of losses over all tokens of up to ``rows`` windows, and their number.

        Missing rows are filled with the first one and not counted, so that one set of buffers serves every batch.
        """
        num_rows, full = len(windows), windows
        if num_rows < self.rows:
            full = np.concatenate([windows, np.repeat(windows[:1], self.rows - num_rows, 0)])
        pair = torch.from_numpy(full)
        self.forward(params, pair[:, :-1].contiguous())
        torch._log_softmax(self.logits, 1, False, out=self.logits)
        picked = self.logits.gather(1, pair[:, 1:].reshape(-1, 1))[: num_rows * self.arch.block]
        return -float(picked.sum(dtype=torch.float64)), num_rows * self.arch.block

    def forward(self, params: Tensors, x: torch.Tensor, masks: tuple[torch.Tensor, ...] = ()) -> torch.Tensor:
        """Return the logits (a buffer of this object), one row a token."""
        arch, self.masks = self.arch, masks
        torch.index_select(params["wte"], 0, x.reshape(-1), out=self.embedded)
        stream = self.embedded
        if arch.positions == "learned":
            stream.view(-1, arch.block, arch.dim).add_(params["wpe"])
        if arch.norm == "rms":
            stream = self.norm0.forward(stream, params)
        if masks:
            stream = torch.mul(
                stream, masks[0]
            )  # not in place: the norm before it needs its own output again
        for number, layer in enumerate(self.layers):
            layer.masks = masks[1 + 2 * number : 3 + 2 * number]
            stream = self._layer_forward(layer, stream, params)
        hidden = self.norm.forward(stream, params)
        return torch.mm(hidden, params["wte" if arch.tied else "head"].t(), out=self.logits)

    def _layer_forward(self, layer: _Layer, stream: torch.Tensor, params: Tensors) -> torch.Tensor:
        arch, at = self.arch, layer.at
        torch.mm(
            layer.norm1.forward(stream, params), params[at + "qkv"].view(-1, arch.dim).t(), out=layer.qkv
        )
        if arch.positions == "rope":
            heads_forward(
                layer.qkv.numpy(), layer.scale.numpy(), self.cos, self.sin, arch.heads, arch.qk_norm, EPS
            )
        attended = layer.attention.forward(layer.qkv)
        self._residual(stream, attended, params[at + "o"], layer.masks[:1], layer.middle)
        self._activate(layer, layer.norm2.forward(layer.middle, params), params)
        self._residual(layer.middle, layer.acted, params[at + "down"], layer.masks[1:], layer.out)
        return layer.out

    def _residual(
        self,
        stream: torch.Tensor,
        inner: torch.Tensor,
        weight: torch.Tensor,
        mask: tuple[torch.Tensor, ...],
        out: torch.Tensor,
    ) -> None:
        if mask:
            torch.mm(inner, weight.t(), out=out)
            out.mul_(mask[0]).add_(stream)
        else:
            torch.addmm(stream, inner, weight.t(), out=out)

    def _activate(self, layer: _Layer, hidden: torch.Tensor, params: Tensors) -> None:
        torch.mm(hidden, params[layer.at + "up"].t(), out=layer.up)
        if self.arch.activation == "gelu":
            gelu_forward(layer.up.numpy(), layer.acted.numpy(), layer.up.numpy())
        elif self.arch.activation == "relu2":
            torch.mul(layer.up.clamp_min_(0.0), layer.up, out=layer.acted)
        else:
            torch.mm(hidden, params[layer.at + "gate"].t(), out=layer.gate)
            torch.mul(torch.ops.aten.silu.out(layer.gate, out=layer.acted), layer.up, out=layer.acted)

    @torch.no_grad()
    def backward(self, params: Tensors, grads: Tensors, x: torch.Tensor, y: torch.Tensor) -> None:
        """Write the gradient of the last ``loss`` into ``grads``; every tensor there is overwritten."""
        arch, head = self.arch, "wte" if self.arch.tied else "head"
        grad = self.logits.exp_()
        grad.view(-1)[torch.arange(0, grad.numel(), arch.vocab) + y.reshape(-1)] -= 1.0
        grad.mul_(1.0 / self.num)
        torch.mm(grad.t(), self.norm.out, out=grads[head])
        torch.mm(grad, params[head], out=self.grad_h)
        self.grad_x.zero_()
        self.norm.backward(self.grad_h, self.grad_x, params, grads)
        for layer in reversed(self.layers):
            self._mlp_backward(layer, params, grads)
            self._attention_backward(layer, params, grads)
        self._embedding_backward(grads, x)

    def _embedding_backward(self, grads: Tensors, x: torch.Tensor) -> None:
        arch, grad = self.arch, self.grad_x
        if self.masks:
            grad.mul_(self.masks[0])
        if arch.norm == "rms":
            self.grad_h.zero_()
            self.norm0.backward(grad, self.grad_h, {}, grads)
            grad = self.grad_h
        if arch.positions == "learned":
            torch.sum(grad.view(self.rows, arch.block, arch.dim), 0, out=grads["wpe"])
        if not arch.tied:
            grads["wte"].zero_()
        grads["wte"].index_add_(0, x.reshape(-1), grad)

    def _mlp_backward(self, layer: _Layer, params: Tensors, grads: Tensors) -> None:
        """Go back from the output of a layer to the sum after its attention; ``grad_x`` is changed in place."""
        grad, up, at = self._masked(layer.masks[1:]), self.grad_up, layer.at
        torch.mm(grad.t(), layer.acted, out=grads[at + "down"])
        factor = 2.0 if self.arch.activation == "relu2" else 1.0  # of the derivative of the square
        torch.addmm(up, grad, params[at + "down"], beta=0.0, alpha=factor, out=up)
        hidden = layer.norm2.out
        if self.arch.activation != "swiglu":
            up.mul_(layer.up)  # the forward pass left its slope there: of GELU, or half of that of the square
        else:
            self._gate_backward(layer, grads)
        torch.mm(up.t(), hidden, out=grads[at + "up"])
        torch.mm(up, params[at + "up"], out=self.grad_h)
        if self.arch.activation == "swiglu":
            self.grad_h.addmm_(layer.gate, params[at + "gate"])
        layer.norm2.backward(self.grad_h, self.grad_x, params, grads)

    def _gate_backward(self, layer: _Layer, grads: Tensors) -> None:
        """Split the gradient of silu(gate) * up into both; that of the gate replaces the gate itself."""
        by_gate = torch.mul(self.grad_up, layer.up, out=layer.up)
        self.grad_up.mul_(torch.nn.functional.silu(layer.gate))
        torch.ops.aten.silu_backward.grad_input(by_gate, layer.gate, grad_input=layer.gate)
        torch.mm(layer.gate.t(), layer.norm2.out, out=grads[layer.at + "gate"])

    def _attention_backward(self, layer: _Layer, params: Tensors, grads: Tensors) -> None:
        """Go back from the sum after attention to the input of the layer."""
        arch, at = self.arch, layer.at
        grad = self._masked(layer.masks[:1])
        torch.mm(grad.t(), layer.attention.out, out=grads[at + "o"])
        torch.mm(grad, params[at + "o"], out=self.grad_h)
        layer.attention.backward(self.grad_h, layer.qkv, self.grad_qkv)
        if arch.positions == "rope":
            tables = (layer.scale.numpy(), self.cos, self.sin)
            heads_backward(self.grad_qkv.numpy(), layer.qkv.numpy(), *tables, arch.heads, arch.qk_norm)
        weight, target = params[at + "qkv"].view(-1, arch.dim), grads[at + "qkv"].view(-1, arch.dim)
        torch.mm(self.grad_qkv.t(), layer.norm1.out, out=target)
        torch.mm(self.grad_qkv, weight, out=self.grad_h)
        layer.norm1.backward(self.grad_h, self.grad_x, params, grads)

    def _masked(self, mask: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Return the gradient that enters a branch: that of the stream, through the branch's dropout if it has one."""
        return self.grad_x * mask[0] if mask else self.grad_x
