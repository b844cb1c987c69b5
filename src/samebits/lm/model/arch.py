"""What the model consists of: its shape, its choices, and the list of its tensors.

Two blocks are offered. ``classic`` is the GPT-2 block without biases: LayerNorm, learned positions, GELU. ``modern`` is
what learns fastest on a CPU: RMS norm, rotated queries and keys with a norm of their own, squared ReLU, and output
projections and a head of its own that start at zero. Every choice can be set on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["BLOCKS", "EPS", "LAYER_EPS", "MOST_NGRAMS", "Architecture", "Tensor"]

EPS = 1e-6  # of the root mean square
LAYER_EPS = 1e-5  # of LayerNorm, as GPT-2
MOST_NGRAMS = 4  # tokens that a row of an embedding stands for, as arithmetic has it
BLOCKS: dict[str, dict[str, Any]] = {
    "classic": {
        "norm": "layer",
        "positions": "learned",
        "activation": "gelu",
        "qk_norm": False,
        "tied": True,
        "zero_init": False,
    },
    "modern": {
        "norm": "rms",
        "positions": "rope",
        "activation": "relu2",
        "qk_norm": True,
        "tied": False,
        "zero_init": True,
    },
}
Kind = Literal["matrix", "embedding", "vector"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One parameter; ``kind`` decides about weight decay and about Muon, which takes matrices alone."""

    name: str
    shape: tuple[int, ...]
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Sizes and choices of a model; everything a file of weights needs to be used again.

    Attributes:
        vocab: Token ids.
        layers, heads, dim, block: Sizes.
        norm, positions, activation, qk_norm, tied, zero_init: Choices of the block.
        ngrams: Rows by the last 2, 3 … tokens, up to so many, are added to the embedding; 1 adds none.
        ngram_rows: Most rows of each of these tables; where there are more combinations of tokens, some share a row.
    """

    vocab: int
    layers: int
    heads: int
    dim: int
    block: int
    norm: str = "rms"
    positions: str = "rope"
    activation: str = "relu2"
    qk_norm: bool = True
    tied: bool = False
    zero_init: bool = True
    ngrams: int = 1
    ngram_rows: int = 0

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.dim // self.heads

    @property
    def ngram_lengths(self) -> range:
        """The numbers of tokens, up to ``ngrams``, whose rows are added to the embedding: none of one token alone."""
        return range(2, self.ngrams + 1)

    @property
    def hidden(self) -> int:
        """Width inside the MLP: four times the model, or 8/3 with a gate, which is as many parameters."""
        if self.activation != "swiglu":
            return 4 * self.dim
        return -(-8 * self.dim // 3 // 16) * 16

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all parameters; q, k, v of a layer are a stack, so that one product makes all three."""
        dim, hidden = self.dim, self.hidden
        found: list[Tensor] = []
        for layer in range(self.layers):
            at = f"h{layer}."
            found += [Tensor(at + "qkv", (3, dim, dim), "matrix"), Tensor(at + "o", (dim, dim), "matrix")]
            found += [
                Tensor(at + "up", (hidden, dim), "matrix"),
                Tensor(at + "down", (dim, hidden), "matrix"),
            ]
            if self.activation == "swiglu":
                found.append(Tensor(at + "gate", (hidden, dim), "matrix"))
        found.append(Tensor("wte", (self.vocab, dim), "embedding"))
        for length in self.ngram_lengths:
            rows = min(self.vocab**length, self.ngram_rows)
            found.append(Tensor(f"ngram{length}", (rows, dim), "embedding"))
        if self.positions == "learned":
            found.append(Tensor("wpe", (self.block, dim), "embedding"))
        if not self.tied:
            found.append(Tensor("head", (self.vocab, dim), "embedding"))
        if self.norm == "layer":
            names = [f"h{layer}.norm{n}" for layer in range(self.layers) for n in (1, 2)]
            found += [Tensor(name, (dim,), "vector") for name in [*names, "norm"]]
        return tuple(found)

    @property
    def num_parameters(self) -> int:
        """How many numbers are learned.

        >>> Architecture(vocab=65, layers=4, heads=8, dim=128, block=64).num_parameters
        803072
        """
        total = 0
        for tensor in self.tensors():
            size = 1
            for length in tensor.shape:
                size *= length
            total += size
        return total

    @property
    def flops_per_token(self) -> int:
        """Forward and backward: six for every weight that multiplies, and the two products of attention."""
        weights = (
            self.layers
            * (4 + (3 if self.activation == "swiglu" else 2) * self.hidden // self.dim)
            * self.dim**2
        )
        return 6 * (weights + self.vocab * self.dim) + 12 * self.layers * self.dim * self.block
