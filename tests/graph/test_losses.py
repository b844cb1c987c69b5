"""The loss bounds the edit distance: by enumeration of every graph a model could predict, and by its gradient."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samebits.arithmetic.network import Activation, Network
from samebits.core.seeds import rng_for
from samebits.graph.parser.batches import EncodedExample, collate
from samebits.graph.parser.losses import KINDS, Kind, parser_loss
from samebits.graph.parser.model import Outputs

Ints = NDArray[np.int64]
Graph = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # nodes, heads, arcs
NEAR = 2e-5  # the losses are computed in single precision


@dataclass(frozen=True)
class Case:
    """Logits of one short text and the graph expected of it."""

    node: Any
    head: Any
    arc: Any
    gold: Graph

    def loss(self, kind: Kind, *, longer: int = 0) -> float:
        return self.with_gradients(kind, longer=longer)[0]

    def with_gradients(self, kind: Kind, *, longer: int = 0) -> tuple[float, list[Any]]:
        """Compute as training does, with the text in lane 0, beside one that has ``longer`` more positions."""
        n = len(self.node)
        rows = [
            EncodedExample(
                *(np.empty(0, np.int64),) * 2, np.empty((0, 0), np.int64), *map(np.array, self.gold)
            )
        ]
        if longer:
            nothing = np.zeros(n + longer, np.int64)
            rows.append(
                EncodedExample(nothing, nothing, np.empty((0, 0), np.int64), nothing, nothing, nothing)
            )
        batch = collate(rows, norm=1.0)
        network, t = Network({}), n + longer
        network.start({})
        node, arc = (np.zeros((t, logits.shape[1], 32), np.float32) for logits in (self.node, self.arc))
        head = np.zeros((t, t + 1, 32), np.float32)
        node[:n, :, 0], arc[:n, :, 0], head[:n, : n + 1, 0] = self.node, self.arc, self.head
        values = [
            Activation(network, node),
            Activation(network, head.reshape(1, -1, 32)),
            Activation(network, arc),
        ]
        loss = parser_loss(kind, network, Outputs(values[0], values[1], values[2], ()), batch)
        grads = [np.zeros_like(value.data) for value in values]
        for value, grad in loss.begins:
            grads[values.index(value)] += grad
        grads[1] = grads[1].reshape(t, t + 1, 32)
        return loss.number, [grad[:n, ..., 0] for grad in grads]

    def shares(self) -> tuple[Any, Any, Any]:
        return softmax(self.node), softmax(self.head), softmax(self.arc)


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def random_case(seed: int, n: int, num_nodes: int = 3, num_arcs: int = 2) -> Case:
    """A random tree over some positions, and logits that lean towards it by a random amount."""
    rng = rng_for(seed, "losses", n)
    nodes = rng.integers(0, num_nodes, n)
    nodes[rng.integers(n)] = 1
    order = rng.permutation(np.flatnonzero(nodes))
    heads, arcs = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k, i in enumerate(order):
        heads[i] = 0 if k == 0 else 1 + order[rng.integers(k)]
        arcs[i] = rng.integers(num_arcs)
    sharp, lean = float(rng.choice([0.5, 2.0, 6.0])), float(rng.random() * 8)
    logits = [rng.normal(size=shape) * sharp for shape in ((n, num_nodes), (n, n + 1), (n, num_arcs))]
    for i in range(n):
        for table, gold in zip(logits, (nodes, heads, arcs), strict=True):
            table[i, gold[i]] += lean
        logits[1][i, i + 1] = -1e9
    expected = (tuple(nodes.tolist()), tuple(heads.tolist()), tuple(arcs.tolist()))
    node, head, arc = (table.astype(np.float32).astype(np.float64) for table in logits)
    return Case(node, head, arc, expected)


def arcs_of(graph: Graph) -> dict[tuple[int, int], int]:
    nodes, heads, arcs = graph
    return {
        (heads[i], i + 1): arcs[i]
        for i in range(len(nodes))
        if nodes[i] and (heads[i] == 0 or nodes[heads[i] - 1])
    }


def aligned(found: Graph, gold: Graph) -> int:
    a, b = arcs_of(found), arcs_of(gold)
    nodes = sum(p != g for p, g in zip(found[0], gold[0], strict=True))
    return nodes + sum(a.get(arc) != b.get(arc) for arc in a.keys() | b.keys())


def edit_distance(found: Graph, gold: Graph) -> int:
    """The true distance, over all partial mappings; the root is mapped to itself."""
    a, b = arcs_of(found), arcs_of(gold)
    ours = [i + 1 for i, label in enumerate(found[0]) if label]
    theirs = [i + 1 for i, label in enumerate(gold[0]) if label]
    best = 10**9
    for images in itertools.product([None, *theirs], repeat=len(ours)):
        used = [image for image in images if image is not None]
        if len(set(used)) < len(used):
            continue
        to = {**dict(zip(ours, images, strict=True)), 0: 0}
        cost = len(theirs) - len(used)
        cost += sum(
            1 if v is None else int(found[0][u - 1] != gold[0][v - 1])
            for u, v in zip(ours, images, strict=True)
        )
        kept = {(to[u], to[v]): label for (u, v), label in a.items() if (to[u], to[v]) in b}
        cost += len(a) - len(kept) + len(b) - len(kept) + sum(kept[arc] != b[arc] for arc in kept)  # type: ignore[index]  # both mapped
        best = min(best, cost)
    return best


def every_graph(case: Case) -> list[tuple[float, Graph]]:
    q_node, q_head, q_arc = case.shares()
    n = len(q_node)
    choices = list(itertools.product(*(range(table.shape[1]) for table in (q_node, q_head, q_arc))))
    found = []
    for pick in itertools.product(choices, repeat=n):
        p = math.prod(q_node[i, y] * q_head[i, h] * q_arc[i, a] for i, (y, h, a) in enumerate(pick))
        if p > 0:
            nodes, heads, arcs = zip(*pick, strict=True)
            found.append((p, (nodes, heads, arcs)))
    return found


@pytest.mark.parametrize("seed", range(24))
def test_the_loss_is_above_the_expected_cost_which_is_above_the_expected_distance(seed: int) -> None:
    case = random_case(seed, 1 + seed % 2)
    graphs = every_graph(case)
    cost = math.fsum(p * aligned(graph, case.gold) for p, graph in graphs)
    distance = math.fsum(p * edit_distance(graph, case.gold) for p, graph in graphs)
    closed = case.loss("ged")
    assert abs(closed - cost) < NEAR * (1 + cost)
    assert 0 <= distance <= cost + 1e-9
    assert cost <= case.loss("wce") * (1 + NEAR) + NEAR


@pytest.mark.parametrize("seed", range(2))
def test_the_closed_form_holds_for_three_positions_too(seed: int) -> None:
    case = random_case(100 + seed, 3, num_nodes=2)
    cost = math.fsum(p * aligned(graph, case.gold) for p, graph in every_graph(case))
    assert abs(case.loss("ged") - cost) < NEAR * (1 + cost)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_best_graph_of_each_position_is_nearer_than_the_loss_says(seed: int, n: int) -> None:
    case = random_case(seed, n)
    greedy = tuple(tuple(logits.argmax(-1).tolist()) for logits in (case.node, case.head, case.arc))
    distance = edit_distance(greedy, case.gold)  # type: ignore[arg-type]  # three rows
    assert distance <= case.loss("wce") / math.log(2) * (1 + NEAR) + NEAR


def test_weights_without_the_degree_are_no_bound() -> None:
    """The trap the degree term is there for: plain weights 1, 2, 1 fall below the expected cost."""
    broken = 0
    for seed in range(40):
        case = random_case(seed, 2)
        cost = case.loss("ged")
        node, head, arc = (
            np.log(np.maximum(softmax(logits), 1e-300)) for logits in (case.node, case.head, case.arc)
        )
        plain = 0.0
        for i, (label, above, kind) in enumerate(zip(*case.gold, strict=True)):
            plain -= float(node[i, label])
            if label:
                plain -= 2 * float(head[i, above]) + float(arc[i, kind])
        broken += cost > plain + 1e-3
    assert broken > 0


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind: Kind) -> None:
    case = random_case(7, 3)
    _, gradients = case.with_gradients(kind)
    step = 2.0**-6
    for which, gradient in enumerate(gradients):
        for place in itertools.product(*map(range, gradient.shape)):
            tables = [case.node.copy(), case.head.copy(), case.arc.copy()]
            if tables[which][place] < -1e8:
                continue
            tables[which][place] += step
            high = Case(tables[0], tables[1], tables[2], case.gold).loss(kind)
            tables[which][place] -= 2 * step
            low = Case(tables[0], tables[1], tables[2], case.gold).loss(kind)
            assert abs((high - low) / (2 * step) - float(gradient[place])) < 2e-3


def test_a_longer_neighbour_adds_nothing_but_its_own_loss() -> None:
    case = random_case(11, 3)
    for kind in KINDS:
        number, alone = case.with_gradients(kind)
        _, beside = case.with_gradients(kind, longer=2)
        for a, b in zip(alone, beside, strict=True):
            assert (a == b[: a.shape[0], : a.shape[1]]).all()
        assert number > 0
