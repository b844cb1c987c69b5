"""The models: an encoder that reads both ways, and one softmax each for node label, head and arc label of a position.

Texts: an embedding of characters, layers of LSTM in both directions (each added to the one before), biaffine heads, small
networks for labels. Sentences: an embedding of each word beside what a convolution over its characters finds, three layers, biaffine
heads, arc labels that look at both ends of the arc; part of speech, tag and features of every word are learned beside them.

Everything is made of the operations of ``samebits.arithmetic``: no torch, and the same bits on every CPU.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from samebits.arithmetic.network import Activation, First, Ids, Loss, Network, matrix, table, zeros
from samebits.arithmetic.sequences import Groups, convolve, lstm, lstm_parameters, pairs, with_root
from samebits.graph.parser.batches import WINDOW, ParserBatch
from samebits.graph.parser.losses import Kind, parser_loss

__all__ = ["TAG_TASKS", "Outputs", "Parser", "ParserSizes"]

TAG_TASKS = ("upos", "xpos", "feats")


@dataclass(frozen=True, slots=True)
class ParserSizes:
    """Everything that fixes the shapes of a model, and what is dropped while it learns.

    Attributes:
        kind: ``char`` or ``word``.
        characters: Size of the vocabulary of characters.
        words: Size of the vocabulary of words; 0 for texts.
        nodes: Number of node labels, with "none"; a model of sentences does not predict them.
        arcs: Number of arc labels.
        tags: Numbers of parts of speech, tags and bundles of features; empty for texts.
        width: Width of the encoder, both directions together.
        layers: Layers of the encoder.
        embedding: Width of an embedding.
        spelling: Filters of the convolution over characters.
        biaffine: Width of the vectors that heads are scored with.
        dropout: Share of states dropped while training; of sentences the same ones in all words, and half that share of the weights
            between one state and the next.
    """

    kind: str
    characters: int
    words: int
    nodes: int
    arcs: int
    tags: tuple[int, ...] = ()
    width: int = 128
    layers: int = 2
    embedding: int = 64
    spelling: int = 128
    biaffine: int = 64
    dropout: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Logits of a batch; node labels and tags where the model has them."""

    nodes: Activation | None
    heads: Activation
    arcs: Activation
    tags: tuple[Activation, ...]


@dataclass(frozen=True, slots=True)
class Parser:
    """The model of some sizes, and its loss.

    Attributes:
        sizes: Shapes.
        loss_kind: Which loss; see ``losses``.
        tag_weight: Weight of each of the second tasks.
        smoothing: Of labels and heads.
    """

    sizes: ParserSizes
    loss_kind: Kind = "wce"
    tag_weight: float = 0.5
    smoothing: float = 0.0

    def parameters(self) -> dict[str, First]:
        """Return how each parameter begins."""
        sizes = self.sizes
        half = max(16, sizes.biaffine // 2)
        found: dict[str, First] = {
            "characters": table(sizes.characters, _CHARACTER if sizes.words else sizes.embedding)
        }
        inputs = sizes.embedding
        if sizes.words:
            found["words"] = table(sizes.words, sizes.embedding)
            found["spelling"], found["spelling.bias"] = (
                matrix(sizes.spelling, WINDOW * _CHARACTER),
                zeros(sizes.spelling),
            )
            inputs += sizes.spelling
        for layer in range(sizes.layers):
            found |= lstm_parameters(f"layer{layer}", sizes.width if layer else inputs, sizes.width // 2)
        found["root"] = zeros(sizes.width)
        for name in ("head", "child"):
            found |= _network(name, sizes.biaffine, sizes.width)
        found |= _network("pair", sizes.biaffine, sizes.biaffine)
        if sizes.words:
            for name in ("above", "below"):
                found |= _network(name, half, sizes.width)
            found |= _network("relation", sizes.arcs, 3 * half)
            for task, number in zip(TAG_TASKS, sizes.tags, strict=True):
                found |= _network(task, number, sizes.width)
            return found
        for name, number in (("node", sizes.nodes), ("arc", sizes.arcs)):
            found |= {**_network(f"{name}.hidden", 64, sizes.width), **_network(f"{name}.out", number, 64)}
        return found

    def loss(self, network: Network, batch: ParserBatch) -> Loss:
        """Return the loss of a batch: the sum over positions divided by its norm."""
        states, tags = self.encode(network, batch)
        found = Outputs(
            self.nodes(network, states),
            self.heads(network, states, batch.groups),
            self.arcs(network, states, batch.groups, batch.heads),
            tags,
        )
        return parser_loss(
            self.loss_kind, network, found, batch, tag_weight=self.tag_weight, smoothing=self.smoothing
        )

    def encode(self, network: Network, batch: ParserBatch) -> tuple[Activation, tuple[Activation, ...]]:
        """Return the states of all positions, and the logits of tags."""
        sizes = self.sizes
        if sizes.words:
            letters = network.dropout(network.embed("characters", batch.letters), sizes.dropout / 3)
            forms = convolve(network, letters, batch.spelled, "spelling", "spelling.bias")
            x = network.embed_all([("words", batch.words)], [(forms, batch.forms)])
            x = network.dropout(x, sizes.dropout)
        else:
            x = network.embed("characters", batch.letters)
        tags: tuple[Activation, ...] = ()
        for layer in range(sizes.layers):
            drop = sizes.dropout / 2 if sizes.words else 0.0
            states = lstm(network, x, batch.groups, f"layer{layer}", drop=drop)
            x = states + x if layer and not sizes.words else states
            x = network.dropout(x, sizes.dropout, alike=bool(sizes.words))
            if sizes.words and layer == min(1, sizes.layers - 1):
                tags = tuple(_linear(network, x, task) for task in TAG_TASKS)
        return x, tags

    def nodes(self, network: Network, states: Activation) -> Activation | None:
        """Return logits of node labels; every word is a node, so sentences have none."""
        if self.sizes.words:
            return None
        return _linear(network, network.relu(_linear(network, states, "node.hidden")), "node.out")

    def heads(self, network: Network, states: Activation, groups: Groups) -> Activation:
        """Return the scores of every position, and of the root, as the head of every position."""
        above = self._small(network, with_root(network, states, groups, "root"), "head")
        below = self._small(network, states, "child")
        return pairs(network, _linear(network, below, "pair"), above, groups)

    def arcs(self, network: Network, states: Activation, groups: Groups, heads: Ids) -> Activation:
        """Return logits of the label of the arc from each given head; those of texts do not depend on it."""
        if not self.sizes.words:
            return _linear(network, network.relu(_linear(network, states, "arc.hidden")), "arc.out")
        above = self._small(network, with_root(network, states, groups, "root"), "above")
        below = self._small(network, states, "below")
        chosen = network.gather(above, _places(groups, heads))
        return _linear(network, network.concat(below, chosen, below * chosen), "relation")

    def _small(self, network: Network, x: Activation, name: str) -> Activation:
        rate = self.sizes.dropout if self.sizes.words else 0.0
        return network.dropout(network.relu(_linear(network, x, name)), rate, alike=True)


_CHARACTER = 32  # width of the embedding of a character of a word


def _network(name: str, outputs: int, inputs: int) -> dict[str, First]:
    return {name: matrix(outputs, inputs), f"{name}.bias": zeros(outputs)}


def _linear(network: Network, x: Activation, name: str) -> Activation:
    return network.linear(x, name, f"{name}.bias")


def _places(groups: Groups, heads: Ids) -> Ids:
    """Return where the heads of all positions are among panels that have a root in front of each group."""
    starts = np.repeat(groups.starts[:-1] + np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    lanes = np.arange(heads.shape[1])[None]
    return np.where(heads >= 0, (starts[:, None] + heads) * heads.shape[1] + lanes, -1)
