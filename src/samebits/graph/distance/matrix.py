"""The matrix of distances: all pairs of one set, or of two, cut by cost, on every core, resumable.

Costs of pairs differ a millionfold, so shards are cut by an estimate (nodes times nodes times budget) and are small. The cut is
a function of the sizes and the budget alone, never of the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard, ShardTable
from samebits.graph.data import Graph
from samebits.graph.distance.compare import compare_pairs
from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.pack import GraphSet, pack
from samebits.graph.distance.trees import TreeSet, compare_trees, pack_trees

__all__ = ["MatrixShard", "PairGrid", "PairsPart", "cut_pairs", "fold_matrix", "make_grid"]

# About 0.1 s: 7 ns a unit were measured on random graphs of 10 nodes with a budget of 1,000.
CELL_COST = 16_000_000
MOST_COUNTED = 200  # states; most pairs are solved long before their budget
TREE_FACTOR = 2


@dataclass(frozen=True, slots=True)
class PairGrid:
    """All pairs, numbered row by row; with ``mirrored`` only those right of the diagonal.

    Attributes:
        graphs: Rows and then columns (the same graphs once, if mirrored).
        trees: The same as trees, if trees are compared.
        rows: Number of rows.
        columns: Number of columns.
        mirrored: Whether the set is compared with itself.
    """

    graphs: GraphSet | None
    trees: TreeSet | None
    rows: int
    columns: int
    mirrored: bool

    def row_starts(self) -> NDArray[np.int64]:
        """Return the number of each row's first pair, and the number of pairs at the end."""
        rows = np.arange(self.rows + 1, dtype=np.int64)
        return rows * self.columns - rows * (rows + 1) // 2 if self.mirrored else rows * self.columns

    def pairs(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of the pairs in a range."""
        return self.places(np.arange(start, stop, dtype=np.int64))

    def places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of pairs by their numbers."""
        starts = self.row_starts()
        rows = np.searchsorted(starts, numbers, side="right") - 1
        columns = numbers - starts[rows] + (rows + 1 if self.mirrored else 0)
        return rows, columns


class PairsPart(NamedTuple):
    """Bounds of some pairs and the states looked at, pair after pair."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    expansions: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatrixShard:
    """The task: the pairs of one shard."""

    part_type: ClassVar = PairsPart
    scaled: Scaled
    budget: int
    limit: int

    def __call__(self, shard: Shard, state: PairGrid, /) -> PairsPart:
        """Return bounds and the states looked at, pair after pair."""
        first, second = state.pairs(shard.start, shard.stop)
        second = second if state.mirrored else second + state.rows
        if state.trees is not None:
            exact = compare_trees(state.trees, first, second, self.scaled)
            return PairsPart(exact, exact, np.zeros_like(exact))
        assert state.graphs is not None
        found = compare_pairs(state.graphs, first, second, self.scaled, budget=self.budget, limit=self.limit)
        return PairsPart(found.lower, found.upper, found.expansions)


def make_grid(graphs: Sequence[Graph], against: Sequence[Graph] | None, *, trees: bool = False) -> PairGrid:
    """Pack one or two sets."""
    everything = [*graphs, *(against or ())]
    columns = len(graphs) if against is None else len(against)
    packed = None if trees else pack(everything)
    tree_set = pack_trees(everything) if trees else None
    return PairGrid(packed, tree_set, len(graphs), columns, against is None)


def cut_pairs(grid: PairGrid, budget: int) -> ShardTable:
    """Cut the pairs wherever their estimated cost passes a multiple of ``CELL_COST``."""
    sizes = grid.trees.node_at if grid.trees is not None else None
    weights = (np.diff(sizes) if sizes is not None else grid.graphs.sizes if grid.graphs else np.empty(0)) + 1
    weights = weights.astype(np.int64)
    factor = TREE_FACTOR * int(weights.max(initial=1)) if sizes is not None else 4 + min(budget, MOST_COUNTED)
    starts = grid.row_starts()
    cuts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    before = 0
    last = 0
    for row in range(grid.rows):
        columns = weights[row + 1 : grid.rows] if grid.mirrored else weights[grid.rows :]
        costs = np.cumsum(columns) * (int(weights[row]) * factor)
        cells = (before + np.concatenate([[0], costs[:-1]])) // CELL_COST if len(costs) else costs
        fresh = np.flatnonzero(np.diff(cells, prepend=last))
        cuts.append(starts[row] + fresh)
        if len(costs):
            before, last = before + int(costs[-1]), int(cells[-1])
    total = int(starts[-1])
    begin = np.unique(np.concatenate(cuts))
    begin = begin[begin < total]
    return ShardTable.from_ranges(
        source=np.zeros_like(begin), start=begin, stop=np.append(begin[1:], total)[: len(begin)]
    )


def fold_matrix(grid: PairGrid, parts: Iterator[tuple[Shard, PairsPart]]) -> dict[str, NDArray[np.int64]]:
    """Put the parts of all shards into whole matrices."""
    found = {name: np.zeros((grid.rows, grid.columns), np.int64) for name in PairsPart._fields}
    for shard, part in parts:
        rows, columns = grid.pairs(shard.start, shard.stop)
        for matrix, values in zip(found.values(), part, strict=True):
            matrix[rows, columns] = values
            if grid.mirrored:
                matrix[columns, rows] = values
    return found
