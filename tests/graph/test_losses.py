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

from samebits.core.seeds import rng_for

torch = pytest.importorskip("torch")
from samebits.graph.parser.losses import KINDS, Kind, Targets, graph_loss  # noqa: E402  # after torch is known to be there

Ints = NDArray[np.int64]
Graph = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # nodes, heads, arcs


@dataclass(frozen=True)
class Case:
    """Logits of one short text and the graph expected of it."""

    node: Any
    head: Any
    arc: Any
    gold: Graph

    def loss(self, kind: Kind) -> float:
        return float(self.tensor_loss(kind, self.node, self.head, self.arc))

    def tensor_loss(self, kind: Kind, node: Any, head: Any, arc: Any) -> Any:
        nodes, heads, arcs = (torch.tensor([row]) for row in self.gold)
        kids = torch.zeros(nodes.shape, dtype=torch.float64)
        for label, above in zip(*self.gold[:2], strict=True):
            if label and above:
                kids[0, above - 1] += 1
        targets = Targets(nodes, heads, arcs, kids, torch.ones(nodes.shape, dtype=torch.bool))
        return graph_loss(kind, node[None], head[None], arc[None], targets).sum()

    def probabilities(self) -> tuple[Any, Any, Any]:
        return tuple(logits.softmax(-1).numpy() for logits in (self.node, self.head, self.arc))


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
    node, head, arc = (torch.from_numpy(table) for table in logits)
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
    q_node, q_head, q_arc = case.probabilities()
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
    assert abs(closed - cost) < 1e-9  # sums of thousands of products: the last digits differ by order
    assert 0 <= distance <= cost + 1e-9
    assert cost <= case.loss("wce") + 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_the_closed_form_holds_for_three_positions_too(seed: int) -> None:
    case = random_case(100 + seed, 3, num_nodes=2)
    cost = math.fsum(p * aligned(graph, case.gold) for p, graph in every_graph(case))
    assert abs(case.loss("ged") - cost) < 1e-9


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_best_graph_of_each_position_is_nearer_than_the_loss_says(seed: int, n: int) -> None:
    case = random_case(seed, n)
    greedy = tuple(tuple(logits.argmax(-1).tolist()) for logits in (case.node, case.head, case.arc))
    distance = edit_distance(greedy, case.gold)  # type: ignore[arg-type]  # three rows
    assert distance <= case.loss("wce") / math.log(2) + 1e-9


def test_weights_without_the_degree_are_no_bound() -> None:
    """The trap the degree term is there for: plain weights 1, 2, 1 fall below the expected cost."""
    broken = 0
    for seed in range(40):
        case = random_case(seed, 2)
        cost = case.loss("ged")
        node, head, arc = (logits.log_softmax(-1) for logits in (case.node, case.head, case.arc))
        plain = 0.0
        for i, (label, above, kind) in enumerate(zip(*case.gold, strict=True)):
            plain -= float(node[i, label])
            if label:
                plain -= 2 * float(head[i, above]) + float(arc[i, kind])
        broken += cost > plain + 1e-9
    assert broken > 0


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind: Kind) -> None:
    case = random_case(7, 3)
    inputs = [logits.clone().requires_grad_(True) for logits in (case.node, case.head, case.arc)]
    gradients = torch.autograd.grad(case.tensor_loss(kind, *inputs), inputs)
    step = 1e-6
    for which, gradient in enumerate(gradients):
        for place in itertools.product(*map(range, gradient.shape)):
            values = [logits.detach().clone() for logits in inputs]
            if values[which][place] < -1e8:
                continue
            values[which][place] += step
            high = float(case.tensor_loss(kind, *values))
            values[which][place] -= 2 * step
            low = float(case.tensor_loss(kind, *values))
            assert abs((high - low) / (2 * step) - float(gradient[place])) < 1e-5


def test_padding_adds_nothing() -> None:
    case = random_case(11, 3)
    for kind in KINDS:
        nodes, heads, arcs = (torch.tensor([[*row, 0, 0]]) for row in case.gold)
        kids = torch.zeros(nodes.shape, dtype=torch.float64)
        for label, above in zip(*case.gold[:2], strict=True):
            if label and above:
                kids[0, above - 1] += 1
        mask = torch.tensor([[True] * 3 + [False] * 2])
        pad = torch.nn.functional.pad
        node, arc = (pad(logits, (0, 0, 0, 2)) for logits in (case.node, case.arc))
        head = pad(pad(case.head, (0, 2), value=-1e9), (0, 0, 0, 2))
        found = graph_loss(kind, node[None], head[None], arc[None], Targets(nodes, heads, arcs, kids, mask))
        assert abs(float(found.sum()) - case.loss(kind)) < 1e-9
