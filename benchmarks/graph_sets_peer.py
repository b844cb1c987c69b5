"""Other solvers of graph edit distance on pairs of the field's sets, each in the environment of the benchmark.

Usage: python graph_sets_peer.py PEER FILE SECONDS; prints {"values": [...], "seconds": [...]}, CPU seconds of each pair. A value is
None where a pair took longer than SECONDS (networkx only: it can be stopped). Graphs have labels on nodes and none on edges,
every edit costs 1.

networkx-told   ``graph_edit_distance`` with the distance to check as its upper bound: it gives that value only if there is
                nothing below and something there, and None if the value is too low
networkx        the same, told nothing
pygmtools       ``astar`` without a beam; the pair written as an affinity matrix, its matching priced as edits
graphkit-learn  ``BIPARTITE`` of its environment in Python: an upper bound
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Solve = Callable[[Any], "float | None"]


class TooLong(Exception):
    """The pair has had its seconds."""


def as_networkx(item: Any) -> Any:
    """Make a networkx graph with labels."""
    import networkx as nx

    made = nx.Graph()
    for number, label in enumerate(item["labels"]):
        made.add_node(number, label=label)
    made.add_edges_from(item["edges"], label="")
    return made


def networkx(pairs: Any, *, told: bool) -> list[Solve]:
    """Graphs are built before the clock starts."""
    import networkx as nx

    def same(x: Any, y: Any) -> bool:
        return bool(x["label"] == y["label"])

    def solver(a: Any, b: Any, upper: int | None) -> Solve:
        return lambda _: nx.graph_edit_distance(a, b, node_match=same, edge_match=same, upper_bound=upper)

    return [
        solver(as_networkx(one["a"]), as_networkx(one["b"]), one["distance"] if told else None)
        for one in pairs
    ]


def pygmtools(pairs: Any) -> list[Solve]:
    """A kept label is worth 1, a kept edge 2: what is not kept is edited, and what is left over inserted."""
    import numpy as np
    import pygmtools as pygm
    import torch

    torch.set_num_threads(1)
    pygm.set_backend("pytorch")

    def solver(one: Any) -> Solve:
        small, large = sorted((one["a"], one["b"]), key=lambda item: len(item["labels"]))
        sides = []
        for item in (small, large):
            near = np.zeros((len(item["labels"]),) * 2, np.float32)
            for u, v in item["edges"]:
                near[u, v] = near[v, u] = 1
            sides.append(near)
        affinity = np.kron(sides[1], sides[0])
        same = [[x == y for x in small["labels"]] for y in large["labels"]]
        affinity[np.diag_indices(len(affinity))] = np.array(same, np.float32).reshape(-1)
        given = torch.from_numpy(affinity)
        total = len(large["labels"]) + len(small["edges"]) + len(large["edges"])

        def solve(_: Any) -> float:
            found = pygm.astar(given, len(small["labels"]), len(large["labels"])).numpy().T.reshape(-1)
            return float(total - found @ affinity @ found)

        return solve

    return [solver(one) for one in pairs]


def graphkit(pairs: Any) -> list[Solve]:
    """The environment is set up outside the clock, the method inside."""
    from gklearn.ged.env import GEDEnv

    def solver(one: Any) -> Solve:
        env = GEDEnv()
        env.set_edit_cost("CONSTANT", edit_cost_constants=[1, 1, 1, 1, 1, 1])
        for side in ("a", "b"):
            env.add_nx_graph(as_networkx(one[side]), "")
        env.init(init_type="LAZY_WITHOUT_SHUFFLED_COPIES")
        first, second = env.get_all_graph_ids()

        def solve(_: Any) -> float:
            env.set_method("BIPARTITE", {"threads": 1})
            env.init_method()
            env.run_method(first, second)
            return float(env.get_upper_bound(first, second))

        return solve

    return [solver(one) for one in pairs]


PEERS: dict[str, Callable[[Any], list[Solve]]] = {
    "networkx-told": lambda pairs: networkx(pairs, told=True),
    "networkx": lambda pairs: networkx(pairs, told=False),
    "pygmtools": pygmtools,
    "graphkit-learn": graphkit,
}


def stop(*_: object) -> None:
    """End the pair at hand."""
    raise TooLong


def main() -> None:
    """Build first, then time each pair."""
    peer, path, most = sys.argv[1:]
    signal.signal(signal.SIGVTALRM, stop)
    values: list[float | None] = []
    seconds: list[float] = []
    for solve in PEERS[peer](json.loads(Path(path).read_text(encoding="utf-8"))):
        started = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, float(most))
        try:
            value = solve(None)
        except TooLong:
            value = None
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        values.append(value)
        seconds.append(time.process_time() - started)
    print(json.dumps({"values": values, "seconds": seconds}))


if __name__ == "__main__":
    main()
