"""The model, stated once: training, validation, evaluation and generation with a cache all run what ``record`` records."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.recording.ops import PANEL, Value
from samebits.arithmetic.recording.program import Program
from samebits.arithmetic.recording.tape import Tape, rotation
from samebits.lm.model.arch import EPS, LAYER_EPS, Architecture

__all__ = ["record"]

Floats = NDArray[np.float32]


def record(
    arch: Architecture,
    params: Mapping[str, Floats],
    *,
    windows: int = 1,
    dropout: float = 0.0,
    ngram_dropout: float = 0.0,
    gradients: bool = False,
    cached: bool = False,
) -> Program:
    """Return the model as a program over the memory of ``params``.

    Args:
        arch: Shape and choices.
        params: Weights by name.
        windows: Most windows of a batch.
        dropout: Share of activations dropped, where a run asks for it.
        ngram_dropout: Share dropped of what the rows by several tokens add to the embedding.
        gradients: Whether gradients will be asked for.
        cached: Read on token by token, up to the model's context, instead of whole windows.
    """
    sizes = {"block": PANEL, "cache": arch.block} if cached else {"block": arch.block}
    tape = Tape(params, windows=windows, gradients=gradients, **sizes)
    model = _Model(arch, tape, dropout, ngram_dropout)
    x = model.start()
    for layer in range(arch.layers):
        tape.segment()
        x = model.block(x, f"h{layer}.")
    tape.segment()
    return tape.finish((model.norm(x, "norm"), "wte" if arch.tied else "head"))


class _Model:
    def __init__(self, arch: Architecture, tape: Tape, dropout: float, ngram_dropout: float) -> None:
        self.arch, self.tape, self.rate, self.ngram_rate = arch, tape, dropout, ngram_dropout
        turned = arch.positions == "rope"
        self.turns = rotation(arch.block + 2 * PANEL, arch.head_dim) if turned else None

    def start(self) -> Value:
        """Return the embedding of the tokens; the modern block begins with a norm."""
        x = self.tape.embed("wte", "wpe" if self.arch.positions == "learned" else "")
        rows = None
        for length in self.arch.ngram_lengths:
            rows = self.tape.ngram(rows, f"ngram{length}", length=length, vocab=self.arch.vocab)
        if rows is not None:
            x = self.tape.dropout(rows, self.ngram_rate, add=x)
        if self.arch.norm == "rms":
            x = self.norm(x, "")
        return self.tape.dropout(x, self.rate) if self.rate else x

    def block(self, x: Value, at: str) -> Value:
        """Return the stream after one layer whose weights are named ``at`` and more."""
        x = self.add(x, self.attention(self.norm(x, at + "norm1"), at), at + "o")
        return self.add(x, self.mlp(self.norm(x, at + "norm2"), at), at + "down")

    def norm(self, x: Value, name: str) -> Value:
        if self.arch.norm == "rms":
            return self.tape.norm(x, eps=EPS)
        return self.tape.norm(x, name, eps=LAYER_EPS)

    def attention(self, x: Value, at: str) -> Value:
        heads, eps = self.arch.heads, EPS if self.arch.qk_norm else None
        qkv = self.tape.heads(self.tape.product(x, at + "qkv"), heads=heads, norm_eps=eps, turns=self.turns)
        return self.tape.attention(qkv, heads=heads)

    def mlp(self, x: Value, at: str) -> Value:
        if self.arch.activation == "swiglu":
            return self.tape.gate(self.tape.product(x, at + "up"), self.tape.product(x, at + "gate"))
        return self.tape.product(x, at + "up", activation=self.arch.activation)

    def add(self, stream: Value, branch: Value, weight: str) -> Value:
        """Return the stream plus a branch through its last weights."""
        if not self.rate:
            return self.tape.product(branch, weight, add=stream)
        return self.tape.dropout(self.tape.product(branch, weight), self.rate, add=stream)
