"""What ``from samebits import graph`` offers for many graphs in memory: all pairs, and nearest graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard, ShardTable
from samebits.errors import ConfigError
from samebits.graph.distance.compare import NO_LIMIT
from samebits.graph.distance.costs import Costs, Number
from samebits.graph.distance.knn import KnnShard, cut_queries, fold_nearest, make_state
from samebits.graph.distance.matrix import MatrixShard, cut_pairs, fold_matrix, make_grid
from samebits.graph.distance.pair import as_graphs, check_budget
from samebits.graph.distance.until_exact import OpenPairs, ProveShard, prove_matrix
from samebits.in_memory import map_in_memory

__all__ = ["Matrix", "Neighbours", "ged_matrix", "knn"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Bounds of all pairs, rows by columns, as integers: divide by ``scale`` to get costs.

    Attributes:
        lower: Each distance is at least this.
        upper: And at most this.
        expansions: States looked at for each pair.
        scale: 1 unless a cost has decimals.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    expansions: NDArray[np.int64]
    scale: int

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Where the distance is known."""
        found: NDArray[np.bool_] = self.lower == self.upper
        return found


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest graphs of each query; unpacks into ``index, distance, certified``.

    Attributes:
        index: (queries, k): numbers of corpus graphs, nearest first, ties by number.
        upper: (queries, k): their distances, or upper bounds of them; divide by ``scale``.
        lower: (queries, k): lower bounds.
        certified: (queries,): whether a query's answer is proven.
        compared: (queries,): how many graphs had to be compared; counts ruled out the others.
        rest_lower: (queries,): every graph that is not in the answer is at least this far away; -1 if there is none.
        scale: 1 unless a cost has decimals.
    """

    index: NDArray[np.int64]
    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    certified: NDArray[np.bool_]
    compared: NDArray[np.int64]
    rest_lower: NDArray[np.int64]
    scale: int

    def __iter__(self) -> Any:
        return iter((self.index, self.upper, self.certified))


def ged_matrix(
    graphs: Sequence[Any] | str | Path,
    against: Sequence[Any] | str | Path | None = None,
    *,
    costs: Costs | None = None,
    budget: int = 1000,
    threshold: Number | float | str | None = None,
    until_exact: bool = False,
    workers: int | str = "auto",
) -> Matrix:
    """Compare all graphs with one another, or with those of a second list, on all cores.

    Args:
        graphs: Graphs (or networkx graphs), or the path of a file or folder of them: the rows.
        against: The columns; none compares the graphs with one another and mirrors the result.
        costs: What edits cost; 1 each if not given.
        budget: States to look at for each pair.
        threshold: Distances above this need only be proven to be so: quicker, and ``upper`` may be far off there.
        until_exact: Go on with pairs that the budget leaves open until each is proven. It may take very long, but no more
            memory; only pairs with a graph of more than 512 nodes stay open.
        workers: Number of threads; never changes the result.
    """
    check_budget(budget)
    scaled = (costs or Costs()).scaled()
    limit = NO_LIMIT if threshold is None else scaled.whole(threshold, "threshold") + 1
    grid = make_grid(as_graphs(graphs), None if against is None else as_graphs(against))
    shards = cut_pairs(grid, budget)
    found = fold_matrix(grid, _map("pairs", MatrixShard(scaled, budget, limit), shards, grid, workers))
    if until_exact:
        prove_matrix(grid, found, scaled, limit, partial(_prove_round, workers))
    return Matrix(found["lower"], found["upper"], found["expansions"], 10**scaled.digits)


def knn(
    queries: Sequence[Any] | str | Path,
    corpus: Sequence[Any] | str | Path,
    k: int = 10,
    *,
    costs: Costs | None = None,
    budget: int = 1000,
    until_exact: bool = False,
    workers: int | str = "auto",
) -> Neighbours:
    """Find the k nearest graphs of the corpus for each query.

    Args:
        queries: Graphs (or networkx graphs) to look for, or the path of a file or folder of them.
        corpus: Graphs to choose from.
        k: How many.
        costs: What edits cost; 1 each if not given.
        budget: States to look at for each candidate.
        until_exact: Go on with candidates that the budget leaves open until each answer is proven; may take very long.
        workers: Number of threads; never changes the result.

    Raises:
        ConfigError: if the corpus is smaller than k.
    """
    check_budget(budget)
    scaled = (costs or Costs()).scaled()
    state = make_state(as_graphs(queries), as_graphs(corpus), k)
    parts = _map(
        "queries", KnnShard(k, scaled, budget, until_exact), cut_queries(state.num_queries), state, workers
    )
    found = fold_nearest(k, parts)
    return Neighbours(
        found["neighbours"],
        found["upper"],
        found["lower"],
        found["certified"],
        found["compared"],
        found["rest_lower"],
        10**scaled.digits,
    )


def _prove_round(
    workers: int | str, task: ProveShard, shards: Sequence[Shard], state: OpenPairs
) -> Iterator[Any]:
    starts, stops = ([getattr(shard, name) for shard in shards] for name in ("start", "stop"))
    table = ShardTable.from_ranges(source=np.zeros(len(shards)), start=starts, stop=stops)
    return _map("pairs", task, table, state, workers)


def _map(stage: str, task: Any, shards: ShardTable, state: Any, workers: int | str) -> Iterator[Any]:
    """Run a task over shards on threads; the kernels release the lock of the interpreter."""
    if isinstance(workers, bool) or not (isinstance(workers, int) or workers == "auto"):
        raise ConfigError(f"workers is {workers!r}", hint='use a whole number, 1 or more, or "auto"')
    return map_in_memory("graph", stage, task, shards, state=state, unit=stage, workers=workers)
