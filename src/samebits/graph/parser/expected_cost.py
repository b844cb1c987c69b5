"""The expected cost of leaving every node of a predicted graph where it is, in closed form, with its gradient.

For a position let z be the probability of no node (t = 1 - z: there is one; the root always is), q_j that of head j, y, h and a those
of the expected label, head and arc label, and S = sum of q_j t_j. A gold node costs (1 - y) + z + t (1 + S - h t_h (1 + a)) in
expectation, a position without one t (1 + S). Sums over heads run in ascending order, element by element, so no library decides them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samebits.arithmetic import layers
from samebits.arithmetic.matrices import total
from samebits.arithmetic.network import Floats, Ids, Loss, Network
from samebits.arithmetic.recording.ops import PANEL
from samebits.arithmetic.sequences import choose_shares
from samebits.graph.parser.batches import ParserBatch

if TYPE_CHECKING:
    from samebits.graph.parser.model import Outputs

__all__ = ["expected_cost"]

ONE = np.float32(1.0)


def expected_cost(network: Network, found: Outputs, batch: ParserBatch, weight: float) -> Loss:
    """Return the sum of the expected cost of all positions over the batch's norm, times ``weight``."""
    mask = (batch.heads >= 0).astype(np.float32)
    is_node = mask * (batch.nodes > 0)
    share = np.float32(weight / batch.norm)
    q = network.take(*found.heads.data.shape)
    choose_shares(found.heads, batch.groups, q)
    arcs = network.shares(found.arcs)
    nodes = network.shares(found.nodes) if found.nodes is not None else None
    none = (
        np.where(mask > 0, _picked(nodes, np.zeros_like(batch.nodes)), ONE)
        if nodes is not None
        else ONE - mask
    )
    right_label = _picked(nodes, batch.nodes) if nodes is not None else np.ones_like(mask)
    right_arc = _picked(arcs, batch.arcs)
    q_grad = np.zeros_like(q)
    cost, none_grad, arc_grad = (np.zeros_like(mask) for _ in range(3))
    first = 0
    for start, stop in zip(batch.groups.starts[:-1].tolist(), batch.groups.starts[1:].tolist(), strict=True):
        here, steps = slice(start, stop), stop - start
        last = first + steps * (steps + 1)
        block = q[0, first:last].reshape(steps, steps + 1, PANEL)
        grad = q_grad[0, first:last].reshape(steps, steps + 1, PANEL)
        first = last
        cost[here], none_here, arc_grad[here] = _group(
            block,
            grad,
            none[here],
            right_label[here],
            right_arc[here],
            batch.heads[here],
            is_node[here],
            mask[here],
            share,
        )
        none_grad[here] = none_here
    begins = [(found.heads, _heads_back(q, q_grad, batch)), (found.arcs, _back(arcs, batch.arcs, arc_grad))]
    if nodes is not None:
        grad_of = _back(nodes, batch.nodes, -share * is_node)
        grad_of += _back(nodes, np.zeros_like(batch.nodes), none_grad * mask)
        begins.append((found.nodes, grad_of))  # type: ignore[arg-type]  # nodes were made of found.nodes
    return Loss(weight * total(cost * mask) / batch.norm, tuple(begins))


def _group(
    q: Floats,
    grad: Floats,
    none: Floats,
    label: Floats,
    arc: Floats,
    heads: Ids,
    is_node: Floats,
    mask: Floats,
    share: np.float32,
) -> tuple[Floats, Floats, Floats]:
    """Return cost, gradient of ``none`` and of the arc label of one group, and write that of the heads."""
    steps = len(none)
    there = np.concatenate([np.ones((1, PANEL), np.float32), ONE - none])  # (steps + 1, 32)
    total_there = np.zeros_like(none)
    for j in range(steps + 1):
        total_there = total_there + q[:, j] * there[j]
    wanted = np.maximum(heads, 0)
    lanes = np.arange(PANEL)[None]
    rows = np.arange(steps)[:, None]
    h, t_h, t = q[rows, wanted, lanes], there[wanted, lanes], ONE - none
    inner = ONE + total_there - is_node * (h * t_h * (ONE + arc))
    cost = is_node * ((ONE - label) + none) + t * inner
    scale = share * mask
    none_grad = scale * (is_node - inner)
    there_grad = np.zeros_like(there)
    for j in range(steps + 1):
        grad[:, j] = scale * t * there[j]
    for i in range(steps):
        there_grad = there_grad + (scale[i] * t[i]) * q[i]
    pull = scale * is_node * t
    grad[rows, wanted, lanes] = grad[rows, wanted, lanes] - pull * (t_h * (ONE + arc))
    for i in range(steps):
        there_grad[wanted[i], lanes[0]] = there_grad[wanted[i], lanes[0]] - pull[i] * (h[i] * (ONE + arc[i]))
    none_grad = none_grad - there_grad[1:]
    return cost, none_grad, -(pull * (h * t_h))


def _picked(shares: Floats, wanted: Ids) -> Floats:
    return np.take_along_axis(shares, np.maximum(wanted, 0)[:, None], 1)[:, 0]


def _back(shares: Floats, wanted: Ids, grad: Floats) -> Floats:
    """Return the gradient of logits, given that of one probability at each position."""
    full = np.zeros_like(shares)
    np.put_along_axis(full, np.maximum(wanted, 0)[:, None], grad[:, None], 1)
    into = np.zeros_like(shares)
    layers.choice_shares_back(shares, full, 0, len(shares), shares.shape[1], into)
    return into


def _heads_back(q: Floats, grad: Floats, batch: ParserBatch) -> Floats:
    into = np.zeros_like(q)
    first = 0
    for steps in np.diff(batch.groups.starts).tolist():
        layers.choice_shares_back(q, grad, first, steps, steps + 1, into)
        first += steps * (steps + 1)
    return into
