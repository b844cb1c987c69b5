"""Pairs that their budget left open, searched on until each is proven.

A search goes on in slices from where it stopped, so nothing is done twice, Ctrl-C waits for a slice of about a second, and a
resumed run loses no more than that. Slices are measured in states and sizes, never in seconds. The search is depth first:
its memory is that of its levels (by their sizes at most 0.9 GB, for two graphs of 512 nodes), however long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.graph.distance.compare import MOST_NODES, Compared, compare_pairs, no_places
from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.matrix import PairGrid
from samebits.graph.distance.pack import GraphSet

__all__ = [
    "OpenPairs",
    "ProveShard",
    "ProvenPart",
    "RunStage",
    "is_open",
    "prove_matrix",
    "prove_pair",
    "prove_pairs",
]

# Work of one slice of a pair in the units of ``matrix.CELL_COST``: 0.01 s first, then 0.1 s, then a second each
UNITS = (1_600_000, 16_000_000, 160_000_000)
LEAST_STATES = 1024  # one state of 512 open nodes counts as 512
RunStage = Callable[["ProveShard", Sequence[Shard], "OpenPairs"], Iterator[tuple[Shard, "ProvenPart"]]]


@dataclass(frozen=True, slots=True)
class OpenPairs:
    """The pairs of one round, and where their searches stopped."""

    graphs: GraphSet
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    places: NDArray[np.int64]


class ProvenPart(NamedTuple):
    """Of each pair of a shard: bounds, states of all slices so far, and where the search stopped."""

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    expansions: NDArray[np.int64]
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ProveShard:
    """The task: one slice more for each pair of a shard."""

    part_type: ClassVar = ProvenPart
    scaled: Scaled
    limit: int
    units: int

    def __call__(self, shard: Shard, state: OpenPairs, /) -> ProvenPart:
        """Search on, and return the bounds."""
        found = [
            _slice(
                state.graphs,
                (int(state.first[k]), int(state.second[k])),
                self.scaled,
                self.limit,
                self.units,
                state.places[k : k + 1],
            )
            for k in range(shard.start, shard.stop)
        ]
        return ProvenPart(
            np.concatenate([one.lower for one in found]),
            np.concatenate([one.upper for one in found]),
            np.concatenate([one.expansions for one in found]),
            np.concatenate([one.places for one in found]),
        )


def prove_pairs(
    grid: PairGrid,
    pairs: NDArray[np.int64],
    found: NDArray[np.int64],
    *,
    scaled: Scaled,
    limit: int,
    run: RunStage,
) -> int:
    """Search on, round by round, until no pair is open that can be searched.

    Args:
        grid: All pairs.
        pairs: (2, pairs): row and column of each open pair, in the order of the grid.
        found: (3, pairs): bounds and states of each, which are replaced by those found.
        scaled: The costs.
        limit: A distance of this or more need only be proven to be so.
        run: Runs a task over shards, and gives parts in shard order.

    Returns:
        The number of rounds.
    """
    graphs = grid.graphs
    if graphs is None:
        return 0
    rows, second = pairs[0], pairs[1] if grid.mirrored else pairs[1] + grid.rows
    numbers = np.flatnonzero(np.maximum(graphs.sizes[rows], graphs.sizes[second]) <= MOST_NODES)
    places = no_places(graphs, len(numbers))
    rounds = index = 0
    while len(numbers):
        units = UNITS[min(rounds, len(UNITS) - 1)]
        shards = _cut(len(numbers), units, index)
        state = OpenPairs(graphs, rows[numbers], second[numbers], places)
        for shard, part in run(ProveShard(scaled, limit, units), shards, state):
            here = slice(shard.start, shard.stop)
            found[:, numbers[here]] = part[:3]
            places[here] = part.places
        left = places[:, 0] > 0
        numbers, places = numbers[left], places[left]
        rounds, index = rounds + 1, index + len(shards)
    return rounds


def prove_matrix(
    grid: PairGrid, found: dict[str, NDArray[np.int64]], scaled: Scaled, limit: int, run: RunStage
) -> None:
    """Search on as ``prove_pairs`` does; writes into the matrices of ``found``, which are those of ``fold_matrix``."""
    unproven = is_open(found["lower"], found["upper"], limit)
    rows, columns = np.nonzero(np.triu(unproven, 1) if grid.mirrored else unproven)
    values = np.stack([matrix[rows, columns] for matrix in found.values()])
    prove_pairs(grid, np.stack([rows, columns]), values, scaled=scaled, limit=limit, run=run)
    for matrix, own in zip(found.values(), values, strict=True):
        matrix[rows, columns] = own
        if grid.mirrored:
            matrix[columns, rows] = own


def is_open(lower: NDArray[np.int64], upper: NDArray[np.int64], limit: int) -> NDArray[np.bool_]:
    """Tell which pairs are neither exact nor proven to be beyond the limit."""
    found: NDArray[np.bool_] = (lower < upper) & (lower < limit)
    return found


def _cut(pairs: int, units: int, index: int) -> list[Shard]:
    """Cut the pairs of a round into shards of about a second; numbers go on from those of the round before."""
    size = max(1, UNITS[-1] // units)
    starts = range(0, pairs, size)
    return [Shard(index + i, 0, start, min(start + size, pairs)) for i, start in enumerate(starts)]


def prove_pair(
    graphs: GraphSet, pair: tuple[int, int], scaled: Scaled, *, limit: int, with_mappings: bool = False
) -> Compared:
    """Search one pair until it is proven, or proven to be at the limit or beyond; above ``MOST_NODES`` nodes by counts only."""
    if int(graphs.sizes[list(pair)].max()) > MOST_NODES:
        first, second = (np.array([number], np.int64) for number in pair)
        return compare_pairs(graphs, first, second, scaled, budget=0, with_mappings=with_mappings)
    found = _slice(graphs, pair, scaled, limit, UNITS[0], no_places(graphs, 1), with_mappings=with_mappings)
    while found.places[0, 0]:
        found = _slice(graphs, pair, scaled, limit, UNITS[-1], found.places, with_mappings=with_mappings)
    return found


def _slice(
    graphs: GraphSet,
    pair: tuple[int, int],
    scaled: Scaled,
    limit: int,
    units: int,
    places: NDArray[np.int64],
    *,
    with_mappings: bool = False,
) -> Compared:
    cells = int(np.prod(graphs.sizes[list(pair)] + 1))
    first, second = (np.array([number], np.int64) for number in pair)
    return compare_pairs(
        graphs,
        first,
        second,
        scaled,
        budget=max(LEAST_STATES, units // cells),
        limit=limit,
        with_mappings=with_mappings,
        places=places,
    )
