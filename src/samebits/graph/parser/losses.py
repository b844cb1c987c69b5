"""Losses over the three softmaxes of every position: node label, head, arc label.

``wce``  cross-entropy weighted by graph edits, the default. It is an upper bound of the expected graph edit distance:
         with k children below a gold node,  sum -(2 + k) ln q(label) - 2 ln q(head) - ln q(arc),  and  -2 ln q(none)
         where there is no node. Missing a node costs itself, its arc and its children's arcs; a node too many costs
         itself and one arc; a wrong head one deletion and one insertion. 1 - q <= -ln q gives the bound, and for the
         argmax of each position, edit distance <= loss / ln 2 for every single example. Weights 1, 2, 1 without the
         degree are no bound: they forget the arcs of missing and spurious nodes.
``ce``   plain cross-entropy. As accurate here; it bounds nothing.
``ged``  the expected cost of the identity mapping itself, in closed form. It saturates: trained alone it predicts the
         empty graph (tests keep that as a record).
``mix``  half ``ce`` and half ``ged``.

The label terms of ``ce`` and ``wce`` are put on all positions, which only adds positive terms and makes the encoder learn sooner;
so do the second tasks of sentences (part of speech, tag, features).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from samebits.arithmetic.network import Floats, Loss, Network
from samebits.arithmetic.sequences import choose_loss
from samebits.graph.parser.batches import ParserBatch
from samebits.graph.parser.expected_cost import expected_cost

if TYPE_CHECKING:
    from samebits.graph.parser.model import Outputs

__all__ = ["KINDS", "Kind", "parser_loss"]

Kind = Literal["wce", "ce", "mix", "ged"]
KINDS: tuple[Kind, ...] = ("wce", "ce", "mix", "ged")


def parser_loss(
    kind: Kind,
    network: Network,
    found: Outputs,
    batch: ParserBatch,
    *,
    tag_weight: float = 0.0,
    smoothing: float = 0.0,
) -> Loss:
    """Return the loss of a batch: the sum over positions divided by the batch's norm.

    Args:
        kind: Which loss.
        network: The run.
        found: Logits; arcs at the expected heads if they depend on heads.
        batch: What is expected.
        tag_weight: Weight of each second task.
        smoothing: Share of what is expected of heads and labels that is spread over all choices.
    """
    mask = (batch.heads >= 0).astype(np.float32)
    is_node = mask * (batch.nodes > 0)
    total = Loss(0.0, ())
    if kind != "ged":
        one = np.float32(0.5 if kind == "mix" else 1.0)
        weighted = kind == "wce"
        total += _heads(network, found, batch, is_node * (np.float32(2.0) if weighted else one), smoothing)
        total += _labels(network, found, batch, mask * one, smoothing)
        if found.nodes is not None:
            weights = mask * (np.float32(2.0) + batch.kids * is_node) if weighted else mask * one
            total += network.cross_entropy(found.nodes, batch.nodes, weights=weights, norm=batch.norm)
    if kind in ("ged", "mix"):
        total += expected_cost(network, found, batch, 0.5 if kind == "mix" else 1.0)
    for logits, wanted in zip(found.tags, batch.tags, strict=False):
        weights = (wanted >= 0) * np.float32(tag_weight)
        total += network.cross_entropy(logits, wanted, weights=weights, norm=batch.norm)
    return total


def _heads(network: Network, found: Outputs, batch: ParserBatch, weights: Floats, smoothing: float) -> Loss:
    return choose_loss(
        network, found.heads, batch.groups, batch.heads, weights, norm=batch.norm, smoothing=smoothing
    )


def _labels(network: Network, found: Outputs, batch: ParserBatch, weights: Floats, smoothing: float) -> Loss:
    return network.cross_entropy(
        found.arcs, batch.arcs, weights=weights, norm=batch.norm, smoothing=smoothing
    )
