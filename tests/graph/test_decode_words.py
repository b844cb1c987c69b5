"""Heads of words: the best heads as they are where they form a tree, the best tree elsewhere."""

from __future__ import annotations

import itertools

import numpy as np

from samebits.core.seeds import rng_for
from samebits.graph.parser.decode import decode_words


def is_tree(heads: tuple[int, ...]) -> bool:
    """Follow every word up to the one root."""
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True


def test_no_tree_has_a_better_sum() -> None:
    greedy = 0
    for seed in range(60):
        rng = rng_for(seed, "decode")
        n = 1 + seed % 4
        scores = rng.normal(size=(n, n + 1)) * 3
        found = tuple(decode_words(scores, "tree").tolist())
        assert is_tree(found)
        trees = [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]
        sums = {heads: float(sum(scores[i, head] for i, head in enumerate(heads))) for heads in trees}
        assert np.isclose(sums[found], max(sums.values()))
        greedy += found == tuple(decode_words(scores, "argmax").tolist())
    assert 10 < greedy < 60  # both ways were taken
