"""The field's own sets, AIDS and LINUX: distances that networkx confirms, neighbours that a whole matrix confirms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from samebits import graph
from samebits.core.seeds import rng_for
from samebits.graph import Graph

SETS = ("aids", "linux")


@pytest.fixture(params=SETS)
def sets(request: pytest.FixtureRequest, shared_data: Path) -> tuple[str, list[Graph]]:
    path = shared_data / "graphs" / f"{request.param}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the shared data")
    return request.param, graph.read_graphs(path)


def small_pairs(graphs: list[Graph], count: int, cells: int) -> list[tuple[int, int]]:
    rng = rng_for(5, "small pairs", count)
    found: list[tuple[int, int]] = []
    while len(found) < count:
        i, j = (int(number) for number in rng.integers(0, len(graphs), 2))
        if i != j and len(graphs[i]) * len(graphs[j]) <= cells:
            found.append((i, j))
    return found


def confirmed(a: Graph, b: Graph, distance: int) -> Any:
    """Return what networkx finds at the distance or below it; None if there is nothing."""

    def same(x: dict[str, Any], y: dict[str, Any]) -> bool:
        return x.get("label") == y.get("label")

    return nx.graph_edit_distance(
        a.to_networkx(), b.to_networkx(), node_match=same, edge_match=same, upper_bound=distance
    )


def test_networkx_confirms_distances_of_the_sets(sets: tuple[str, list[Graph]]) -> None:
    # 2,000 pairs of up to 64 cells: benchmarks/graph_sets.py
    _, graphs = sets
    for i, j in small_pairs(graphs, 20, 36):
        found = graph.ged(graphs[i], graphs[j], until_exact=True)
        assert found.exact
        assert confirmed(graphs[i], graphs[j], int(found.upper)) == found.upper


def test_a_bound_below_the_distance_is_not_confirmed(sets: tuple[str, list[Graph]]) -> None:
    """The check above can fail."""
    _, graphs = sets
    for i, j in small_pairs(graphs, 5, 36):
        distance = int(graph.ged(graphs[i], graphs[j]).upper)
        if distance:
            assert confirmed(graphs[i], graphs[j], distance - 1) is None
            assert confirmed(graphs[i], graphs[j], distance + 1) == distance


def test_nearest_graphs_are_certified_and_those_of_comparing_all(sets: tuple[str, list[Graph]]) -> None:
    _, graphs = sets
    queries, corpus = graphs[::50][:6], [item for number, item in enumerate(graphs[:300]) if number % 50]
    found = graph.knn(queries, corpus, k=7, budget=20, until_exact=True, workers=1)
    truth = graph.ged_matrix(queries, corpus, until_exact=True, workers=1)
    order = np.argsort(truth.upper, axis=1, kind="stable")
    assert truth.exact.all()
    assert found.certified.all()
    assert found.index.tolist() == order[:, :7].tolist()
    assert found.upper.tolist() == np.take_along_axis(truth.upper, order[:, :7], 1).tolist()
    beyond = np.take_along_axis(truth.upper, order[:, 7:8], 1)[:, 0]
    assert (found.rest_lower <= beyond).all()
    assert (found.rest_lower >= found.upper[:, -1]).all()


def test_every_pair_is_proven_and_no_way_round_is_shorter(sets: tuple[str, list[Graph]]) -> None:
    # all 244,650 and 499,500 pairs: benchmarks/graph_sets.py
    graphs = sets[1][::5]
    found = graph.ged_matrix(graphs, budget=100, until_exact=True, workers=2)
    assert not graph.ged_matrix(graphs, budget=100, workers=2).exact.all()
    assert found.exact.all()
    assert (found.upper == found.upper.T).all()
    for k in range(0, len(graphs), 9):
        assert (found.upper <= found.upper[:, k : k + 1] + found.upper[k : k + 1, :]).all()
