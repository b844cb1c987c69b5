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

The label terms of ``ce`` and ``wce`` are put on all positions, which only adds positive terms and makes the encoder learn sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["KINDS", "GraphLoss", "Kind", "Targets", "graph_loss"]

Kind = Literal["wce", "ce", "mix", "ged"]
KINDS: tuple[Kind, ...] = ("wce", "ce", "mix", "ged")


@dataclass(frozen=True, slots=True)
class Targets:
    """What is expected at every position; all are (examples, positions).

    Attributes:
        nodes: Number of the node label, 0 for none.
        heads: 0 for the root or no node, j + 1 for position j.
        arcs: Number of the arc label.
        kids: Number of children of the node.
        mask: True where there is a position.
    """

    nodes: Tensor
    heads: Tensor
    arcs: Tensor
    kids: Tensor
    mask: Tensor


def graph_loss(kind: Kind, node: Tensor | None, head: Tensor, arc: Tensor, targets: Targets) -> Tensor:
    """Return the loss of every position.

    Args:
        kind: Which loss.
        node: Logits of node labels, or None where every position is known to be a node.
        head: Logits of heads: (examples, positions, positions + 1).
        arc: Logits of arc labels, at the expected heads if they depend on heads.
        targets: What is expected.

    Returns:
        (examples, positions); 0 where there is no position.
    """
    mask = targets.mask.to(head.dtype)
    is_node = (targets.nodes > 0).to(head.dtype) * mask
    log_node = torch.zeros_like(mask) if node is None else _picked(node, targets.nodes)
    log_head, log_arc = _picked(head, targets.heads), _picked(arc, targets.arcs)
    if kind == "wce":
        weight = 2 + targets.kids * is_node
        return -(2 * log_head * is_node + (log_arc + weight * log_node) * mask)
    cross = -(log_head * is_node + (log_arc + log_node) * mask)
    if kind == "ce":
        return cross
    expected = _expected_cost(node, head, log_node, log_arc, targets, is_node) * mask
    return expected if kind == "ged" else (cross + expected) / 2


def _picked(logits: Tensor, expected: Tensor) -> Tensor:
    return functional.log_softmax(logits, -1).gather(-1, expected[..., None])[..., 0]


def _expected_cost(
    node: Tensor | None, head: Tensor, log_node: Tensor, log_arc: Tensor, targets: Targets, is_node: Tensor
) -> Tensor:
    """Return E[C] of every position: C is the cost of the identity mapping, choices are independent."""
    none = torch.zeros_like(is_node) if node is None else functional.softmax(node, -1)[..., 0]
    none = torch.where(targets.mask, none, torch.ones_like(none))
    # there[j]: probability that head j is a node; the root always is. (examples, positions + 1)
    there = torch.cat([torch.ones_like(none[:, :1]), 1 - none], 1)
    q = functional.softmax(head, -1)
    q_gold = q.gather(-1, targets.heads[..., None])[..., 0]
    there_gold = there.gather(1, targets.heads)
    right = q_gold * (there_gold * (1 - log_arc.exp()) + 1 - there_gold)
    wrong = (q @ (1 + there)[..., None])[..., 0] - q_gold * (1 + there_gold)
    on = (1 - log_node.exp()) + none + (1 - none) * (right + wrong)
    off = (1 - none) * (1 + (q @ there[..., None])[..., 0])
    return is_node * on + (1 - is_node) * off


@dataclass(frozen=True, slots=True)
class GraphLoss:
    """The loss of a batch, as lockstep calls it: the sum over examples divided by ``norm``."""

    kind: Kind

    def __call__(self, module: Any, batch: dict[str, Any]) -> Tensor:
        """Return a scalar."""
        targets = Targets(batch["nodes"], batch["heads"], batch["arcs"], batch["kids"], batch["mask"])
        states = module.encode(batch)
        node = module.nodes(states)
        head = module.heads(states, batch["mask"])
        arc = module.arcs(states, batch["heads"])
        total = graph_loss(self.kind, node, head, arc, targets).sum()
        return total / float(batch["norm"])
