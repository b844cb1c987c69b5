"""Tree decoders against every tree there is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.core.seeds import rng_for
from samebits.kernels.graph.decode import slot_tree, spanning_tree

Floats = NDArray[np.float64]


def is_tree(heads: tuple[int, ...]) -> bool:
    """Heads of words 1..n: everyone reaches 0, exactly one directly."""
    for start in range(1, len(heads) + 1):
        word, steps = start, 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return sum(head == 0 for head in heads) == 1


@pytest.mark.parametrize("case", range(120))
def test_the_spanning_tree_is_the_best_of_all_with_one_root(case: int) -> None:
    rng = rng_for(1, "mst", case)
    n = 1 + case % 5
    # whole numbers: sums are exact, ties happen
    scores = rng.integers(-8, 8, size=(n + 1, n + 1)).astype(np.float64)
    heads = tuple(spanning_tree(scores).tolist())
    assert heads[0] == 0
    assert is_tree(heads[1:])
    every = [t for t in itertools.product(range(n + 1), repeat=n) if is_tree(t)]
    best = max(sum(scores[d, h] for d, h in enumerate(t, 1)) for t in every)
    assert sum(scores[d, h] for d, h in enumerate(heads[1:], 1)) == best


def test_equal_scores_take_the_lowest_index() -> None:
    assert spanning_tree(np.zeros((5, 5))).tolist() == [0, 0, 1, 1, 1]
    assert spanning_tree(np.zeros((1, 1))).tolist() == [0]


def test_a_long_sentence_with_cycles_gives_a_tree() -> None:
    scores = rng_for(1, "mst", "long").normal(size=(301, 301))
    assert is_tree(tuple(spanning_tree(scores)[1:].tolist()))


def projective(heads: tuple[int, ...]) -> bool:
    """No arc crosses another or covers the root."""
    arcs = [(min(c, h), max(c, h)) for c, h in enumerate(heads) if h >= 0]
    root = heads.index(-1)
    if any(low < root < high for low, high in arcs):
        return False
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def rooted(heads: tuple[int, ...]) -> bool:
    for start in range(len(heads)):
        node, steps = start, 0
        while node != -1 and steps <= len(heads):
            node, steps = heads[node], steps + 1
        if node != -1:
            return False
    return heads.count(-1) == 1


def slot_trees(
    n: int, needs: NDArray[np.int32], may: NDArray[np.int8]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every projective tree that fills the slots, by the definition."""
    num_labels = needs.shape[1]
    for heads in itertools.product(range(-1, n), repeat=n):
        if any(h == c for c, h in enumerate(heads)) or not rooted(heads) or not projective(heads):
            continue
        for labels in itertools.product(range(num_labels), repeat=n):
            if any(h < 0 and label for h, label in zip(heads, labels, strict=True)):
                continue  # a root has no label: count it once
            used = np.zeros((n, num_labels), int)
            for head, label in zip(heads, labels, strict=True):
                if head >= 0:
                    used[head, label] += 1
            if all(
                used[h, a] == 1 if needs[h, a] >= 0 else used[h, a] == 0 or may[h, a]
                for h in range(n)
                for a in range(num_labels)
            ):
                yield heads, labels


def score_of(scores: Floats, roots: Floats, heads: tuple[int, ...], labels: tuple[int, ...]) -> float:
    return float(
        sum(
            roots[c] if h < 0 else scores[c, h, label]
            for c, (h, label) in enumerate(zip(heads, labels, strict=True))
        )
    )


@pytest.mark.parametrize("case", range(80))
def test_the_slot_tree_is_the_best_of_all_that_fit(case: int) -> None:
    rng = rng_for(2, "slots", case)
    n, num_labels = 1 + case % 4, 2
    scores = rng.integers(-9, 9, size=(n, n, num_labels)).astype(np.float64)
    roots = rng.integers(-9, 9, size=n).astype(np.float64)
    needs = np.full((n, num_labels), -1, np.int32)
    may = np.zeros((n, num_labels), np.int8)
    for node in range(n):
        kind = int(rng.integers(4))
        if kind == 1:
            needs[node] = (0, 1)
        elif kind == 2:
            needs[node, 0], may[node, 1] = 0, 1
        elif kind == 3:
            may[node] = 1
    every = list(slot_trees(n, needs, may))
    found = slot_tree(scores, roots, needs, may)
    if not every:
        assert found is None
        return
    assert found is not None
    heads, labels = tuple(found[0].tolist()), tuple(max(0, x) for x in found[1].tolist())
    assert (heads, labels) in every
    assert score_of(scores, roots, heads, labels) == max(score_of(scores, roots, *tree) for tree in every)


def test_no_nodes_are_an_empty_tree() -> None:
    empty = np.empty((0, 2), np.int32)
    found = slot_tree(np.empty((0, 0, 2)), np.empty(0), empty, empty.astype(np.int8))
    assert found is not None
    assert (found[0].tolist(), found[1].tolist()) == ([], [])
