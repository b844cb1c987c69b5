"""The models: an encoder that reads both ways, and one softmax each for node label, head and arc label of a position.

Texts: embedding 64, two layers of LSTM in each direction (the second added to the first), biaffine heads, small networks
for labels. Sentences: a convolution over the characters of each word beside its embedding, and labels that look at both
ends of the arc.

A plain padded LSTM lets the padding into the backward direction, so that a prediction would depend on its neighbours in the
batch. Packed sequences avoid it at 2.2 times the time; reversing each row by its own length costs nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["MakeModel", "ParserSizes"]

NEVER = -1e9  # a score no head is chosen with; finite, so that gradients stay finite


@dataclass(frozen=True, slots=True)
class ParserSizes:
    """Everything that fixes the shapes of a model.

    Attributes:
        kind: ``char`` or ``word``.
        characters: Size of the vocabulary of characters.
        words: Size of the vocabulary of words; 0 for texts.
        nodes: Number of node labels, with "none"; a model of sentences does not predict them.
        arcs: Number of arc labels.
        width: Width of the encoder, both directions together.
        layers: Layers of the encoder.
        embedding: Width of an embedding.
        biaffine: Width of the vectors that heads are scored with.
        dropout: Share of states dropped between layers while training.
        word_dropout: Share of words read as unknown while training.
    """

    kind: str
    characters: int
    words: int
    nodes: int
    arcs: int
    width: int = 128
    layers: int = 2
    embedding: int = 64
    biaffine: int = 64
    dropout: float = 0.0
    word_dropout: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MakeModel:
    """Makes the module; picklable, so that every worker makes its own."""

    sizes: ParserSizes

    def __call__(self) -> nn.Module:
        """Return a module with fresh values from torch's generator."""
        return CharModel(self.sizes) if self.sizes.kind == "char" else WordModel(self.sizes)


class BothWays(nn.Module):
    """LSTM layers in both directions; rows are reversed by their own length."""

    def __init__(self, inputs: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [inputs] + [width] * (layers - 1)
        self.forwards = nn.ModuleList(nn.LSTM(size, width // 2, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.LSTM(size, width // 2, batch_first=True) for size in sizes)
        self.dropout = dropout
        half = width // 2
        with torch.no_grad():
            for lstm in (*self.forwards, *self.backwards):
                lstm.bias_ih_l0[half : 2 * half] = 1.0  # remember by default: long texts are learned sooner

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states: (examples, positions, width)."""
        lengths = mask.sum(1, keepdim=True)
        position = torch.arange(x.shape[1])[None]
        mirrored = torch.where(position < lengths, lengths - 1 - position, position)[..., None]
        for number, (ahead, back) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            given = functional.dropout(x, self.dropout, self.training and number > 0)
            seen = ahead(given)[0]
            seen_back = back(given.gather(1, mirrored.expand_as(given)))[0]
            states = torch.cat([seen, seen_back.gather(1, mirrored.expand_as(seen_back))], -1)
            x = states + x if number else states
        return functional.dropout(x, self.dropout, self.training)


class Heads(nn.Module):
    """Biaffine scores of every position, and of the root, as the head of every position."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.root = nn.Parameter(torch.zeros(1, 1, width))
        self.head, self.child = nn.Linear(width, size), nn.Linear(width, size)
        self.weight = nn.Parameter(torch.randn(size + 1, size) * 0.05)

    def with_root(self, states: Tensor) -> Tensor:
        """Put the state of the root in front: (examples, positions + 1, width)."""
        return torch.cat([self.root.expand(len(states), 1, -1), states], 1)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return logits: (examples, positions, positions + 1); no position is its own head."""
        heads = functional.relu(self.head(self.with_root(states)))
        children = functional.relu(self.child(states))
        children = torch.cat([children, torch.ones_like(children[..., :1])], -1)
        scores = (children @ self.weight) @ heads.transpose(1, 2)
        outside = ~torch.cat([torch.ones_like(mask[:, :1]), mask], 1)[:, None]
        itself = functional.pad(torch.eye(mask.shape[1], dtype=torch.bool), (1, 0))[None]
        return scores.masked_fill(outside | itself, NEVER)


def _labels(width: int, number: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, number))


class CharModel(nn.Module):
    """Reads characters."""

    def __init__(self, sizes: ParserSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.characters, sizes.embedding)
        self.encoder = BothWays(sizes.embedding, sizes.width, sizes.layers, sizes.dropout)
        self.head = Heads(sizes.width, sizes.biaffine)
        self.node = _labels(sizes.width, sizes.nodes)
        self.arc = _labels(sizes.width, sizes.arcs)

    def encode(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the states of all positions."""
        states: Tensor = self.encoder(self.embedding(batch["characters"]), batch["mask"])
        return states

    def nodes(self, states: Tensor) -> Tensor | None:
        """Return logits of node labels."""
        logits: Tensor = self.node(states)
        return logits

    def heads(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return logits of heads."""
        logits: Tensor = self.head(states, mask)
        return logits

    def arcs(self, states: Tensor, heads: Tensor) -> Tensor:
        """Return logits of arc labels; they do not depend on the heads here."""
        logits: Tensor = self.arc(states)
        return logits


class WordModel(nn.Module):
    """Reads words, and their characters, and says how they depend on one another."""

    def __init__(self, sizes: ParserSizes) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.embedding)
        self.characters = nn.Embedding(sizes.characters, 32)
        self.spelling = nn.Conv1d(32, 64, 3, padding=1)
        self.encoder = BothWays(sizes.embedding + 64, sizes.width, sizes.layers, sizes.dropout)
        self.head = Heads(sizes.width, sizes.biaffine)
        half = max(16, sizes.biaffine // 2)
        self.above, self.below = nn.Linear(sizes.width, half), nn.Linear(sizes.width, half)
        self.relation = nn.Parameter(torch.randn(sizes.arcs, half + 1, half + 1) * 0.05)
        self.word_dropout = sizes.word_dropout

    def encode(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the states of all words."""
        # (examples, words), (examples, words, characters)
        words, spelled = (
            batch["words"],
            batch["characters"],
        )
        if self.training and self.word_dropout:
            lost = torch.rand(words.shape) < self.word_dropout
            words = torch.where(lost & (words > 0), torch.ones_like(words), words)
        rows = self.characters(spelled.flatten(0, 1)).transpose(1, 2)
        shapes = self.spelling(rows).masked_fill(spelled.flatten(0, 1)[:, None] == 0, NEVER)
        shapes = functional.relu(shapes.amax(-1)).reshape(*words.shape, -1)
        states: Tensor = self.encoder(torch.cat([self.words(words), shapes], -1), batch["mask"])
        return states

    def nodes(self, states: Tensor) -> Tensor | None:
        """Every word is a node."""
        return None

    def heads(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return logits of heads."""
        logits: Tensor = self.head(states, mask)
        return logits

    def arcs(self, states: Tensor, heads: Tensor) -> Tensor:
        """Return logits of the label of the arc from each given head."""
        above = functional.relu(self.above(self.head.with_root(states)))
        chosen = above.gather(1, heads[..., None].expand(-1, -1, above.shape[-1]))
        below = functional.relu(self.below(states))
        chosen, below = (torch.cat([x, torch.ones_like(x[..., :1])], -1) for x in (chosen, below))
        return torch.einsum("bti,aij,btj->bta", below, self.relation, chosen)
