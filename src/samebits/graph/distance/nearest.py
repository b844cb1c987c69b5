"""The k nearest graphs of one graph: filter by counts, verify by search, and say whether the answer is proven.

Candidates are taken in order of (label-count bound, number). A candidate is compared only as far as needed: as soon as its
distance is proven to be beyond the k-th best so far, it is dropped. When the next bound is beyond it, all others are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.graph.distance.compare import NO_LIMIT, Compared, compare_pairs
from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.pack import GraphSet
from samebits.graph.distance.until_exact import prove_pair
from samebits.kernels.graph.counts import count_bounds

__all__ = ["Nearest", "nearest"]

BATCH = 32  # candidates compared before the limit is lowered; a constant, so that the states counted are too


class Nearest(NamedTuple):
    """The answer for one query; bounds in scaled units.

    ``certified``: every distance is exact, and nothing left out can be nearer (or as near with a smaller number).
    ``rest_lower``: everything left out is at least this far away; -1 if nothing was.
    """

    numbers: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    certified: bool
    compared: int
    rest_lower: int
    expansions: int


def nearest(
    graphs: GraphSet,
    query: int,
    corpus: NDArray[np.int64],
    k: int,
    scaled: Scaled,
    *,
    budget: int,
    until_exact: bool = False,
) -> Nearest:
    """Find the k graphs of the corpus nearest to one graph; ties go to the smaller number.

    Args:
        graphs: The set that holds all of them.
        query: The graph.
        corpus: Numbers of the graphs to choose from; the answer counts from 0 within them.
        k: How many, at most the size of the corpus.
        scaled: The costs.
        budget: States to look at for each candidate.
        until_exact: Go on with candidates that this leaves open, until each is proven or proven to be too far.
    """
    lower = _label_bounds(graphs, query, corpus, scaled)
    order = np.argsort(lower, kind="stable")
    upper = np.full(len(corpus), NO_LIMIT, np.int64)
    expansions = compared = 0
    kth = NO_LIMIT
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        batch = batch[lower[batch] <= kth]
        if not len(batch):
            break
        limit = min(kth + 1, NO_LIMIT)
        found = compare_pairs(
            graphs, np.full(len(batch), query, np.int64), corpus[batch], scaled, budget=budget, limit=limit
        )
        if until_exact:
            _prove_open(graphs, query, corpus[batch], scaled, limit, found)
        lower[batch] = np.maximum(lower[batch], found.lower)
        upper[batch] = found.upper
        compared, expansions = compared + len(batch), expansions + int(found.expansions.sum())
        kth = int(np.partition(upper, k - 1)[k - 1])
    chosen = np.lexsort((np.arange(len(corpus)), upper))[:k]
    rest = np.delete(lower, chosen)
    return Nearest(
        chosen,
        lower[chosen],
        upper[chosen],
        _is_proven(lower, upper, chosen),
        compared,
        int(rest.min()) if len(rest) else -1,
        expansions,
    )


def _label_bounds(
    graphs: GraphSet, query: int, corpus: NDArray[np.int64], scaled: Scaled
) -> NDArray[np.int64]:
    """Bound all distances by counting labels."""
    return count_bounds(
        graphs.labels,
        graphs.node_at,
        graphs.edge_labels,
        graphs.edge_at,
        query,
        corpus,
        scaled.prices,
        graphs.num_labels,
        graphs.num_edge_labels,
    )


def _prove_open(
    graphs: GraphSet, query: int, corpus: NDArray[np.int64], scaled: Scaled, limit: int, found: Compared
) -> None:
    """Search on where the budget ended too early; writes into the arrays of ``found``."""
    for at in np.flatnonzero((found.lower < found.upper) & (found.lower < limit)).tolist():
        proven = prove_pair(graphs, (query, int(corpus[at])), scaled, limit=limit)
        found.lower[at], found.upper[at] = proven.lower[0], proven.upper[0]
        found.expansions[at] = max(found.expansions[at], proven.expansions[0])


def _is_proven(lower: NDArray[np.int64], upper: NDArray[np.int64], chosen: NDArray[np.int64]) -> bool:
    if not np.array_equal(lower[chosen], upper[chosen]):
        return False
    rest = np.ones(len(lower), bool)
    rest[chosen] = False
    others = np.flatnonzero(rest)
    last, worst = int(chosen[-1]), int(upper[chosen[-1]])
    return bool(np.all((lower[others] > worst) | ((lower[others] == worst) & (others > last))))
