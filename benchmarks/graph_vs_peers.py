"""graph against networkx (exact graph edit distance), edist, apted and zss (ordered trees): the same pairs, values compared.

Every side gets its graphs or trees ready made; CPU seconds of the comparisons alone are measured, one core, sides in turn.
samebits compares graphs one by one through ``graph.ged``, trees as one batch. Ratio keys: ``networkx_exact_8_nodes``,
``edist_trees_15``, ``apted_trees_15``, ``zss_trees_15`` (peer's seconds a pair by ours) and ``two_workers`` (a matrix of 1,000
generated graphs of 6 to 10 nodes, ``record.seconds`` of one worker by two). The quick form uses fewer pairs and 300 graphs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BENCH, arguments, finish, peer_python, show_table
from benchmarks.graph_data import molecule, similar, tree
from samebits import graph
from samebits.bench.cell import Cell, run_cell
from samebits.graph.distance.compare import compare_pairs
from samebits.graph.distance.pack import pack
from samebits.graph.distance.trees import compare_trees, pack_trees

PEER = Path(__file__).with_name("graph_peer.py")
PACKAGES = ["networkx==3.6.1", "numpy", "scipy", "edist==1.2.2", "apted==1.0.3", "zss==1.2.0"]
TREE_PEERS = {"edist": 1000, "apted": 40, "zss": 40}  # pairs; apted and zss take milliseconds each
Pairs = Sequence[tuple[Any, Any]]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def ask_peer(python: Path, peer: str, data: Any, folder: Path) -> tuple[list[int], float]:
    """Let a peer compare pairs in its own environment."""
    path = folder / f"{peer}.json"
    path.write_text(json.dumps(data))
    done = subprocess.run([str(python), str(PEER), peer, str(path)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{peer} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    return answer["values"], answer["seconds"]


def against_networkx(python: Path, folder: Path, *, pairs: int, rounds: int) -> dict[str, Any]:
    """Exact distances of random pairs of 8 nodes."""
    both = [(molecule(2 * k, 8), molecule(2 * k + 1, 8)) for k in range(pairs)]
    data = [[{"labels": list(g.labels), "edges": list(g.edges)} for g in pair] for pair in both]
    theirs, ours, equal = [], [], True
    for _ in range(rounds):
        values, seconds = ask_peer(python, "networkx", data, folder)
        theirs.append(seconds / pairs)
        found, own = timed(lambda: [graph.ged(a, b) for a, b in both for _ in range(20)][::20])
        ours.append(own / pairs / 20)
        equal = equal and [int(one.upper) for one in found] == values and all(one.exact for one in found)
    return {
        "equal": equal,
        "peer": statistics.median(theirs),
        "ours": statistics.median(ours),
        "pairs": pairs,
    }


def against_tree_peer(python: Path, folder: Path, peer: str, *, pairs: int, rounds: int) -> dict[str, Any]:
    """Distances of random trees of 15 nodes."""
    trees = [tree(k, 15) for k in range(2 * pairs)]
    packed = pack_trees(trees)
    first = np.arange(pairs, dtype=np.int64)
    repeats = max(1, 4000 // pairs)
    scaled = graph.Costs().scaled()
    theirs, ours, equal = [], [], True
    for _ in range(rounds):
        data = [[trees[k], trees[k + pairs]] for k in range(pairs)]
        values, seconds = ask_peer(python, peer, data, folder)
        theirs.append(seconds / pairs)
        found, own = timed(
            lambda: [compare_trees(packed, first, first + pairs, scaled) for _ in range(repeats)]
        )
        ours.append(own / pairs / repeats)
        equal = equal and found[0].tolist() == values
    return {
        "equal": equal,
        "peer": statistics.median(theirs),
        "ours": statistics.median(ours),
        "pairs": pairs,
    }


def own_speeds() -> dict[str, Any]:
    """Pairs a CPU second, solved exactly, without a peer."""
    found: dict[str, Any] = {}
    for name, nodes, pairs, near in (
        ("random_8", 8, 500, False),
        ("random_10", 10, 300, False),
        ("random_12", 12, 100, False),
        ("random_16", 16, 10, False),
        ("similar_10", 10, 500, True),
        ("similar_16", 16, 500, True),
        ("similar_20", 20, 500, True),
    ):
        first = [molecule(k, nodes) for k in range(pairs)]
        second = (
            [similar(g, k) for k, g in enumerate(first)]
            if near
            else [molecule(9000 + k, nodes) for k in range(pairs)]
        )
        packed, numbers = pack([*first, *second]), np.arange(pairs, dtype=np.int64)
        work = partial(
            compare_pairs, packed, numbers, numbers + pairs, graph.Costs().scaled(), budget=1_000_000
        )
        answer, seconds = timed(work)
        exact = float(np.mean(answer.lower == answer.upper))
        found[name] = {
            "pairs_a_second": pairs / seconds,
            "exact": exact,
            "expansions": float(answer.expansions.mean()),
        }
    return found


def two_workers(folder: Path, *, graphs: int, rounds: int) -> dict[str, Any]:
    """The matrix of many graphs with one and with two workers, each run a process of its own."""
    path = folder / "molecules.jsonl"
    items = (molecule(k, 6 + k % 5) for k in range(graphs))
    path.write_text("".join(json.dumps(item.to_json()) + "\n" for item in items))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    digests = set()
    for number in range(rounds):
        for workers, found in seconds.items():
            output = folder / f"matrix-{number}-{workers}"
            record = run_cell("graph", {"inputs": [str(path)]}, Cell("auto", workers), output)
            found.append(record["seconds"])
            digests.add(record["artifact_digest"])
            metrics = record["metrics"]
    medians = {workers: statistics.median(found) for workers, found in seconds.items()}
    return {"equal": len(digests) == 1, "seconds": medians, "graphs": graphs, "metrics": metrics}


def main() -> None:
    """Generate, compare, measure, report."""
    options = arguments(__doc__.splitlines()[0])
    rounds = 1 if options.quick else min(options.rounds, 3)
    BENCH.mkdir(exist_ok=True)
    python = peer_python("graph", PACKAGES)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        folder = Path(name)
        parts = {
            "networkx": against_networkx(python, folder, pairs=4 if options.quick else 10, rounds=rounds)
        }
        for peer, pairs in TREE_PEERS.items():
            parts[peer] = against_tree_peer(python, folder, peer, pairs=pairs, rounds=rounds)
        speeds = own_speeds()
        matrix = two_workers(
            folder, graphs=300 if options.quick else 1000, rounds=1 if options.quick else rounds
        )
    rows = [
        [name, f"{1 / part['peer']:,.1f}", f"{1 / part['ours']:,.0f}", f"{part['peer'] / part['ours']:,.1f}"]
        for name, part in parts.items()
    ]
    show_table(["peer", "its pairs/s", "ours", "ratio"], rows)
    show_table(
        ["pairs", "a second", "exact", "states"],
        [
            [n, f"{s['pairs_a_second']:,.0f}", f"{s['exact']:.3f}", f"{s['expansions']:,.0f}"]
            for n, s in speeds.items()
        ],
    )
    ratios = {"networkx_exact_8_nodes": parts["networkx"]["peer"] / parts["networkx"]["ours"]}
    ratios |= {f"{peer}_trees_15": parts[peer]["peer"] / parts[peer]["ours"] for peer in TREE_PEERS}
    ratios["two_workers"] = matrix["seconds"][1] / matrix["seconds"][2]
    print(", ".join(f"{key} {value:,.1f}x" for key, value in ratios.items()))
    equal = matrix["equal"] and all(part["equal"] for part in parts.values())
    details = {
        "pairs": parts,
        "own_speeds": speeds,
        "matrix": {**matrix, "seconds": {str(k): v for k, v in matrix["seconds"].items()}},
        "packages": PACKAGES,
        "rounds": rounds,
    }
    finish("graph_vs_peers", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
