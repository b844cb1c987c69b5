"""The field's sets of graphs, AIDS (700 molecules) and LINUX (1,000 call graphs): every pair exact, checked by other solvers.

Needs ``graphs/aids.jsonl.gz`` and ``graphs/linux.jsonl.gz`` of the shared data. In one run: ``graph matrix --until-exact`` of
both sets with one and two workers; random pairs of at most 64 cells (nodes times nodes) whose distance networkx confirms; the
same by networkx, pygmtools and graphkit-learn for their speed and how near they come; ``graph knn`` against the matrix. Ratio
keys: ``networkx_SET`` (its CPU seconds a pair by ours, which compares them as one batch; at least that where pairs were
stopped), ``pygmtools_SET``, ``graphkit_SET``, ``two_workers_SET``. The quick form has few and small pairs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import BENCH, arguments, finish, peer_python, shared_data, show_table
from samebits import graph
from samebits.bench.cell import Cell, run_cell
from samebits.core.seeds import rng_for
from samebits.graph.distance.compare import compare_pairs
from samebits.graph.distance.pack import pack

PEER = Path(__file__).with_name("graph_sets_peer.py")
PACKAGES = ["networkx==3.6.1", "numpy", "scipy", "pygmtools==0.6.0", "torch==2.13.0", "graphkit-learn==0.2.1.post20240206154638"]  # fmt: skip
# asked for, and not to be had from PyPI as a solver of this problem
NOT_THERE = ["gmatch4py", "gedlibpy", "gedlib", "pygedlib", "graph-edit-distance", "otged", "simgnn"]
SETS = ("aids", "linux")
WITHOUT_END = (1 << 60) - 1


class Sizes(NamedTuple):
    """How much of each thing a run does: pairs, their largest cells, CPU seconds a pair may take."""

    confirmed: int
    timed: int
    matched: int
    bounded: int
    cells: int
    seconds: int


FULL = Sizes(confirmed=1000, timed=10, matched=100, bounded=300, cells=64, seconds=60)
QUICK = Sizes(confirmed=20, timed=3, matched=10, bounded=30, cells=42, seconds=10)


def whole_matrix(path: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Every pair proven, with one and with two workers, each run a process of its own."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    digests = set()
    for number in range(rounds):
        for workers, found in seconds.items():
            output = folder / f"{path.name}-{number}-{workers}"
            config = {"inputs": [str(path)], "until_exact": True}
            record = run_cell("graph", config, Cell("auto", workers), output)
            found.append(record["seconds"])
            digests.add(record["artifact_digest"])
    about = record["metrics"]
    medians = {str(workers): statistics.median(found) for workers, found in seconds.items()}
    return {
        "equal": len(digests) == 1 and about["exact"] == about["pairs"],
        "seconds": medians,
        "pairs": about["pairs"],
        "exact": about["exact"],
        "exact_share": about["exact"] / about["pairs"],
        "states": about["expansions"],
        "upper": np.load(output / "upper.npy"),
    }


def draw_pairs(graphs: list[graph.Graph], count: int, cells: int, name: str) -> list[tuple[int, int]]:
    """Return random pairs of different graphs that are not too large together."""
    rng = rng_for(1, "pairs", name, count)
    found: list[tuple[int, int]] = []
    while len(found) < count:
        i, j = (int(number) for number in rng.integers(0, len(graphs), 2))
        if i != j and len(graphs[i]) * len(graphs[j]) <= cells:
            found.append((i, j))
    return found


def ask(
    python: Path, peer: str, data: list[Any], folder: Path, seconds: int
) -> tuple[list[float | None], float]:
    """Let a peer compare pairs; return its values and its CPU seconds a pair."""
    path = folder / "pairs.json"
    path.write_text(json.dumps(data))
    command = [str(python), str(PEER), peer, str(path), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{peer} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    return answer["values"], statistics.mean(answer["seconds"])


def own_seconds(graphs: list[graph.Graph], pairs: list[tuple[int, int]]) -> float:
    """Return our CPU seconds a pair, all of them proven in one batch, as a matrix compares them."""
    packed, scaled = pack(graphs), graph.Costs().scaled()
    numbers = np.array(pairs, np.int64)
    repeats = max(1, 2000 // len(pairs))
    started = time.process_time()
    for _ in range(repeats):
        found = compare_pairs(packed, numbers[:, 0].copy(), numbers[:, 1].copy(), scaled, budget=WITHOUT_END)
    assert (found.lower == found.upper).all()
    return (time.process_time() - started) / repeats / len(pairs)


def against_peer(
    python: Path, peer: str, graphs: list[graph.Graph], exact: NDArray[np.int64], folder: Path, **how: Any
) -> dict[str, Any]:
    """Compare one peer with the matrix: how many values are equal, how far the others are, how long it takes."""
    pairs = draw_pairs(graphs, how["count"], how["cells"], peer)
    data = [
        {
            "a": {"labels": list(graphs[i].labels), "edges": [[u, v] for u, v, _ in graphs[i].triples]},
            "b": {"labels": list(graphs[j].labels), "edges": [[u, v] for u, v, _ in graphs[j].triples]},
            "distance": int(exact[i, j]),
        }
        for i, j in pairs
    ]
    values, seconds = ask(python, peer, data, folder, how["seconds"])
    truth = [int(exact[i, j]) for i, j in pairs]
    done = [(value, d) for value, d in zip(values, truth, strict=True) if value is not None]
    return {
        "pairs": len(pairs),
        "answered": len(done),
        "equal": sum(value == d for value, d in done),
        "below": sum(value < d for value, d in done),
        "ratio_to_exact": sum(value for value, _ in done) / max(1, sum(d for _, d in done)),
        "seconds": seconds,
        "ours": own_seconds(graphs, pairs),
    }


def neighbours(graphs: list[graph.Graph], exact: NDArray[np.int64], k: int) -> dict[str, Any]:
    """Every seventh graph against the others: each answer certified, and that of the whole matrix."""
    queries = list(range(0, len(graphs), 7))
    corpus = [number for number in range(len(graphs)) if number % 7]
    started = time.process_time()
    found = graph.knn(
        [graphs[i] for i in queries], [graphs[i] for i in corpus], k=k, until_exact=True, workers=1
    )
    seconds = time.process_time() - started
    truth = exact[np.ix_(queries, corpus)]
    order = np.argsort(truth, axis=1, kind="stable")
    beyond = np.take_along_axis(truth, order[:, k : k + 1], 1)[:, 0]
    equal = (
        np.array_equal(found.index, order[:, :k])
        and np.array_equal(found.upper, np.take_along_axis(truth, order[:, :k], 1))
        and bool(found.certified.all())
        and bool((found.rest_lower <= beyond).all() and (found.rest_lower >= found.upper[:, -1]).all())
    )
    return {
        "equal": equal,
        "queries": len(queries),
        "corpus": len(corpus),
        "k": k,
        "certified": int(found.certified.sum()),
        "compared_share": float(found.compared.mean() / len(corpus)),
        "seconds": seconds,
    }


def compare_set(python: Path, path: Path, folder: Path, size: Sizes, rounds: int) -> dict[str, Any]:
    """Do everything with one set."""
    graphs = graph.read_graphs(path)
    matrix = whole_matrix(path, folder, rounds)
    exact = matrix.pop("upper")
    plan = {
        "networkx-told": {"count": size.confirmed, "cells": size.cells},
        "networkx": {"count": size.timed, "cells": size.cells},
        "pygmtools": {"count": size.matched, "cells": size.cells},
        "graphkit-learn": {"count": size.bounded, "cells": 100},
    }
    peers = {
        peer: against_peer(python, peer, graphs, exact, folder, seconds=size.seconds, **how)
        for peer, how in plan.items()
    }
    return {"matrix": matrix, "peers": peers, "knn": neighbours(graphs, exact, 10)}


def is_equal(part: dict[str, Any]) -> bool:
    """Whether all that must agree does: networkx where it answered, bounds on their side, neighbours."""
    confirmed, timed = part["peers"]["networkx-told"], part["peers"]["networkx"]
    return bool(
        part["matrix"]["equal"]
        and part["knn"]["equal"]
        and confirmed["answered"] == confirmed["equal"] == confirmed["pairs"]
        and timed["answered"] == timed["equal"]
        and all(peer["below"] == 0 for peer in part["peers"].values())
    )


def main() -> None:
    """Prove, compare, report."""
    options = arguments(__doc__.splitlines()[0])
    size, rounds = (QUICK, 1) if options.quick else (FULL, min(options.rounds, 3))
    BENCH.mkdir(exist_ok=True)
    data = shared_data() / "graphs"
    python = peer_python("graph_sets", PACKAGES)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        found = {one: compare_set(python, data / f"{one}.jsonl.gz", Path(name), size, rounds) for one in SETS}
    ratios: dict[str, float] = {}
    rows = []
    for name, part in found.items():
        for peer, key in (
            ("networkx", "networkx"),
            ("pygmtools", "pygmtools"),
            ("graphkit-learn", "graphkit"),
        ):
            about = part["peers"][peer]
            ratios[f"{key}_{name}"] = about["seconds"] / about["ours"]
        ratios[f"two_workers_{name}"] = part["matrix"]["seconds"]["1"] / part["matrix"]["seconds"]["2"]
        rows += [
            [name, peer, f"{a['answered']}/{a['pairs']}", f"{a['equal']}", f"{a['ratio_to_exact']:.2f}", f"{a['seconds']:.4f}", f"{a['ours']:.6f}"]
            for peer, a in part["peers"].items()
        ]  # fmt: skip
        about = part["matrix"]
        print(
            f"{name}: {about['exact']:,} of {about['pairs']:,} pairs exact, {about['seconds']['1']:.1f} s with one worker"
        )
    show_table(["set", "peer", "answered", "equal", "ratio", "its s/pair", "ours"], rows)
    print(", ".join(f"{key} {value:,.1f}x" for key, value in ratios.items()))
    details = {**found, "packages": PACKAGES, "not_on_pypi": NOT_THERE, "rounds": rounds}
    finish(
        "graph_sets",
        equal=all(is_equal(part) for part in found.values()),
        ratios=ratios,
        details=details,
        options=options,
    )


if __name__ == "__main__":
    main()
