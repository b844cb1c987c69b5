"""Graph edit distance against its definition: exact where it says so, and never a bound on the wrong side."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.graph.naive import brute_ged, edited, mapping_price, pairs_of, random_graph

from samebits import graph
from samebits.core.seeds import rng_for
from samebits.errors import ConfigError
from samebits.graph import Costs, Graph, ged
from samebits.graph.distance.compare import compare_pairs
from samebits.graph.distance.edits import apply_edits, script_cost
from samebits.graph.distance.pack import pack
from samebits.kernels.graph.distance import assign_rows

PRICES = [
    Costs(),
    Costs(3, 2, 2, 1, 1, 2),
    Costs(5, 1, 2, 4, 1, 1),  # a node is never relabelled, an edge neither
    Costs(2, 3, 1, 0, 2, 3),
    Costs("0.5", "1.25", 1, "0.1", 1, "0.75"),
    Costs(0, 1, 1, 1, 0, 1),
]
MANY = 10**9


def some_graphs(
    seed: int, count: int, *, most: int, directed: bool, least: int = 0, loops: float = 0.15
) -> list[Graph]:
    sizes = rng_for(seed, "sizes").integers(least, most + 1, count).tolist()
    return [
        random_graph(seed, k, nodes=size, directed=directed, extra=0.6, loops=loops)
        for k, size in enumerate(sizes)
    ]


def bounds(graphs: list[Graph], pairs: list[tuple[int, int]], costs: Costs, **how: Any) -> Any:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    return compare_pairs(pack(graphs), first, second, costs.scaled(), **how)


@pytest.mark.parametrize("costs", PRICES, ids=str)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_it_equals_brute_force_and_its_mapping_costs_that_much(directed: bool, costs: Costs) -> None:
    graphs = some_graphs(PRICES.index(costs), 40, most=4, directed=directed)
    pairs = pairs_of(40, 180, 1)  # 12 such tests: 2,160 pairs
    found = bounds(graphs, pairs, costs, budget=MANY, with_mappings=True)
    truth = [brute_ged(graphs[i], graphs[j], costs) for i, j in pairs]
    assert found.lower.tolist() == truth
    assert found.upper.tolist() == truth
    images = [tuple(None if v < 0 else v for v in image.tolist()) for image in found.images]
    prices = [
        mapping_price(graphs[i], graphs[j], image, costs) for (i, j), image in zip(pairs, images, strict=True)
    ]
    assert prices == truth


@pytest.mark.parametrize("costs", PRICES, ids=str)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_bounds_enclose_the_distance_and_only_tighten_as_the_budget_grows(
    directed: bool, costs: Costs
) -> None:
    graphs = some_graphs(7, 30, most=9, directed=directed, least=4)
    pairs = pairs_of(30, 40, 2)
    truth = bounds(graphs, pairs, costs, budget=MANY)
    assert truth.lower.tolist() == truth.upper.tolist()
    lower, upper = np.zeros(40, np.int64), np.full(40, 1 << 60)
    for budget in (0, 1, 2, 5, 10, 30, 100, 1000):
        found = bounds(graphs, pairs, costs, budget=budget)
        assert (found.lower <= truth.lower).all()
        assert (found.upper >= truth.upper).all()
        assert (found.lower >= lower).all()
        assert (found.upper <= upper).all()
        assert (found.expansions <= budget).all()
        lower, upper = found.lower, found.upper


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_it_equals_networkx(directed: bool) -> None:
    # networkx matches loops with other edges
    graphs = some_graphs(11, 30, most=5, directed=directed, loops=0)
    pairs = pairs_of(30, 160, 3)  # 320 in both directions' tests
    found = bounds(graphs, pairs, Costs(), budget=MANY)
    theirs = [other_ged(graphs[i], graphs[j], Costs()) for i, j in pairs]
    assert found.upper.tolist() == theirs


def test_it_equals_networkx_with_weighted_costs() -> None:
    costs = Costs(3, 2, 2, 1, 1, 2)
    graphs = some_graphs(13, 20, most=4, directed=False, loops=0)
    pairs = pairs_of(20, 60, 4)
    assert bounds(graphs, pairs, costs, budget=MANY).upper.tolist() == [
        other_ged(graphs[i], graphs[j], costs) for i, j in pairs
    ]


def other_ged(a: Graph, b: Graph, costs: Costs) -> int:
    node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins = costs.scaled().prices.tolist()

    def unequal(price: int) -> Any:
        return lambda x, y: 0 if x.get("label") == y.get("label") else price

    found = nx.graph_edit_distance(
        a.to_networkx(),
        b.to_networkx(),
        node_subst_cost=unequal(node_sub),
        node_del_cost=lambda _: node_del,
        node_ins_cost=lambda _: node_ins,
        edge_subst_cost=unequal(edge_sub),
        edge_del_cost=lambda _: edge_del,
        edge_ins_cost=lambda _: edge_ins,
    )
    return int(found)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_it_is_a_metric_with_unit_costs(directed: bool) -> None:
    graphs = some_graphs(17, 24, most=7, directed=directed)
    found = graph.ged_matrix(graphs, budget=MANY, workers=1)
    back = graph.ged_matrix(graphs[::-1], budget=MANY, workers=1)
    d = found.upper
    assert found.exact.all()
    assert d.tolist() == back.upper[::-1, ::-1].tolist()
    assert d.diagonal().tolist() == [0] * 24
    for k in range(24):
        assert (d <= d[:, k : k + 1] + d[k : k + 1, :]).all()


def test_the_order_of_the_nodes_does_not_matter() -> None:
    for k in range(40):
        first = random_graph(19, k, nodes=8, directed=k % 2 == 0, loops=0.1)
        again = edited(first, 19, k, edits=0)
        found = ged(first, again)
        assert (found.lower, found.upper) == (0, 0)


@pytest.mark.parametrize("costs", PRICES, ids=str)
def test_the_script_costs_the_upper_bound_and_makes_the_second_graph(costs: Costs) -> None:
    for k in range(30):
        a = random_graph(23, k, nodes=k % 7, directed=k % 2 == 0, extra=0.5, loops=0.2)
        b = random_graph(29, k, nodes=(3 * k) % 8, directed=k % 2 == 0, extra=0.5, loops=0.2)
        for budget in (0, 3, 1000):
            found = ged(a, b, costs=costs, budget=budget)
            assert script_cost(found.edits, costs) == found.upper
            assert found.apply() == b


def test_a_script_that_does_not_fit_is_refused() -> None:
    a, b = random_graph(1, nodes=5), random_graph(2, nodes=5)
    edits = ged(a, b).edits
    assert edits
    with pytest.raises(ConfigError, match="does not fit"):
        apply_edits(Graph(labels=["Q"] * 5), edits)


def test_costs_are_exact_decimals() -> None:
    a, b = Graph(labels=["x"]), Graph(labels=["y"])
    found = ged(a, b, costs=Costs(node_sub=0.1, node_del="0.07", node_ins=Decimal("0.02")))
    assert (found.lower, found.upper, found.exact) == (Decimal("0.09"), Decimal("0.09"), True)
    assert found.mapping == (None,)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "much", "1e-12", 10**13, None])
def test_a_cost_that_is_no_cost_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="node_sub is"):
        Costs(node_sub=value)


@pytest.mark.parametrize("budget", [-1, 1.5, True, "10", 1 << 60])
def test_a_budget_that_is_no_count_is_refused(budget: Any) -> None:
    with pytest.raises(ConfigError, match="the budget is"):
        ged(Graph(labels=[]), Graph(labels=[]), budget=budget)


def test_graphs_of_two_kinds_are_not_compared() -> None:
    with pytest.raises(ConfigError, match="graph 1 is directed, graph 0 is undirected"):
        ged(Graph(labels="ab"), Graph(labels="ab", edges=[(0, 1)], directed=True))
    with pytest.raises(ConfigError, match="a dict is not a graph"):
        ged({}, Graph(labels=[]))


def test_an_empty_graph_is_as_far_as_everything_in_the_other() -> None:
    other = Graph(labels="abc", edges=[(0, 1), (2, 2)], directed=True)
    assert ged(Graph(labels=[]), other).upper == 5
    assert ged(other, Graph(labels=[])).lower == 5
    assert ged(Graph(labels=[]), Graph(labels=[])).mapping == ()


def test_networkx_graphs_are_taken_as_they_are() -> None:
    found = ged(nx.cycle_graph(6), nx.path_graph(6))
    assert (found.upper, found.exact) == (1, True)
    with pytest.raises(ConfigError, match="MultiGraph"):
        ged(nx.MultiGraph(), nx.path_graph(2))


def test_ten_thousand_nodes_give_an_interval_at_once() -> None:
    large, other = nx.path_graph(10_000), nx.cycle_graph(9_000)
    found = ged(large, other)
    assert 0 < found.lower <= 1000 + 999 <= found.upper
    assert script_cost(found.edits, found.costs) == found.upper
    assert "only labels are counted" in found.explain()


def test_a_large_graph_beside_small_ones_does_not_harm_them() -> None:
    graphs = [random_graph(3, 0, nodes=6), Graph(labels=["C"] * 600), random_graph(3, 1, nodes=6)]
    found = graph.ged_matrix(graphs, workers=1)
    assert found.upper[0, 2] == ged(graphs[0], graphs[2]).upper
    assert found.lower[0, 1] <= found.upper[0, 1] >= 594


def test_a_large_search_ends_within_its_budget() -> None:
    a, b = random_graph(5, 0, nodes=200, extra=1.0), random_graph(5, 1, nodes=180, extra=1.0)
    found = ged(a, b, budget=300)
    assert found.lower <= found.upper
    assert found.expansions <= 300
    assert script_cost(found.edits, found.costs) == found.upper


def test_explain_says_what_is_certain() -> None:
    a, b = Graph(labels=["C", "O"], edges=[(0, 1, "-")]), Graph(labels=["C", "N"], edges=[(0, 1, "=")])
    lines = ged(a, b).explain().splitlines()
    assert lines[0].startswith("distance 2, proven")
    assert lines[1:] == ["  relabel node 1: 'O' -> 'N'", "  relabel edge 0 - 1: '-' -> '='"]
    open_pair = ged(random_graph(1, nodes=12), random_graph(2, nodes=12), budget=0)
    assert "the budget of 0 states was used up" in open_pair.explain()


def test_a_limit_stops_only_what_is_proven_to_be_beyond_it() -> None:
    graphs = some_graphs(31, 20, most=8, directed=False, least=4)
    pairs = pairs_of(20, 60, 5)
    truth = bounds(graphs, pairs, Costs(), budget=MANY).upper
    for limit in (1, 3, 6):
        found = bounds(graphs, pairs, Costs(), budget=MANY, limit=limit)
        assert (found.lower <= truth).all()
        assert (found.upper >= truth).all()
        assert ((found.lower >= limit) | (found.lower == found.upper)).all()
        assert (found.upper[truth < limit] == truth[truth < limit]).all()


def test_an_assignment_is_the_cheapest_of_all_and_a_forced_column_is_priced_right() -> None:
    for k in range(200):
        rng = rng_for(37, "assign", k)
        rows = int(rng.integers(0, 5))
        cost = rng.integers(-5, 9, (rows, rows + int(rng.integers(0, 3)))).astype(np.int64)
        total, columns, dearer = assign_rows(cost)
        prices = {
            order: sum(int(cost[i, j]) for i, j in enumerate(order))
            for order in itertools.permutations(range(cost.shape[1]), rows)
        }
        assert total == min(prices.values()) == prices[tuple(columns.tolist())]
        forced = [
            min(p for order, p in prices.items() if order[:1] == (j,))
            for j in range(cost.shape[1] * (rows > 0))
        ]
        assert forced == (total + dearer[: len(forced)]).tolist()
    with pytest.raises(ValueError, match="do not fit"):
        assign_rows(np.zeros((3, 2), np.int64))
