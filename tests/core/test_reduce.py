"""Folds: exact under any regrouping for integers, one fixed bracketing for floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.fold import Best, CanonicalTree, Concat, Counts, OrderedSum, fold_all

counts = st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9)), max_size=8)


@given(counts, st.integers(0, 8))
def test_counts_are_equal_for_any_regrouping(parts: list[dict[str, int]], cut: int) -> None:
    left, right = fold_all(Counts(), parts[:cut]), fold_all(Counts(), parts[cut:])
    assert fold_all(Counts(), [left, right]) == fold_all(Counts(), parts)


def test_counting_leaves_the_parts_as_they_are() -> None:
    part = {"a": 1}
    fold_all(Counts(), [part, part])
    assert part == {"a": 1}


def reference_tree(items: list[str]) -> str:
    """The canonical tree as the design states it: node(l) += node(l + size) for sizes 1, 2, 4, ..."""
    nodes = list(items)
    size = 1
    while size < len(nodes):
        for left in range(0, len(nodes) - size, 2 * size):
            nodes[left] = f"({nodes[left]}+{nodes[left + size]})"
        size *= 2
    return nodes[0]


class Term:
    """Writes down how it was added."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Term) -> Term:
        return Term(f"({self.text}+{other.text})")


@given(st.integers(1, 70))
def test_the_tree_has_its_canonical_shape_for_any_number_of_leaves(num_leaves: int) -> None:
    tree = CanonicalTree()
    names = [str(i) for i in range(num_leaves)]
    assert tree.result(fold_all(tree, [Term(name) for name in names])).text == reference_tree(names)


def test_the_tree_holds_no_more_than_a_logarithm_of_sums() -> None:
    tree = CanonicalTree()
    acc = tree.zero()
    most = 0
    for leaf in range(1000):
        acc = tree.fold(acc, leaf)
        most = max(most, len(acc))
    assert most <= 10
    assert tree.result(acc) == sum(range(1000))


def test_nothing_folds_to_nothing() -> None:
    assert CanonicalTree().result([]) is None
    assert fold_all(OrderedSum(), []) is None
    assert fold_all(Best(key=abs), []) is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_an_ordered_sum_is_the_left_fold(values: list[float]) -> None:
    total = values[0]
    for value in values[1:]:
        total = total + value
    assert fold_all(OrderedSum(), values) == total


@given(st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=6))
def test_concat_keeps_the_order(parts: list[list[int]]) -> None:
    expected = [item for part in parts for item in part]
    concat = Concat()
    assert concat.result(fold_all(concat, parts)) == expected
    arrays: Any = concat.result(fold_all(concat, [np.array(part, dtype=np.int64) for part in parts]))
    assert list(arrays) == expected


def test_of_equals_the_earlier_shard_is_best() -> None:
    assert fold_all(Best(key=lambda part: part[0]), [(2, "a"), (1, "b"), (1, "c")]) == (1, "b")
