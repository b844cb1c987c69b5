"""How parts become one result. A reducer folds parts in shard order, so arrival order cannot reach the result.

Integer folds are exact under any bracketing. Floating folds are not associative: ``OrderedSum`` is a left fold and
``CanonicalTree`` a balanced tree whose shape depends on the number of shards alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Best", "CanonicalTree", "Concat", "Counts", "OrderedSum", "Reducer", "fold_all"]

Acc = TypeVar("Acc")


class Reducer(Protocol[Acc]):
    """Folds parts, always in shard order."""

    def zero(self) -> Acc:
        """Return a fresh accumulator."""
        ...

    def fold(self, acc: Acc, part: Any, /) -> Acc:
        """Return the accumulator with one more part; may reuse ``acc``, never ``part``."""
        ...


def fold_all(reducer: Reducer[Acc], parts: Iterable[Any]) -> Acc:
    """Fold parts one by one, as the engine does."""
    acc = reducer.zero()
    for part in parts:
        acc = reducer.fold(acc, part)
    return acc


@dataclass(frozen=True)
class Counts:
    """Adds integer counts by key.

    >>> fold_all(Counts(), [{"a": 1}, {"a": 2, "b": 1}])
    {'a': 3, 'b': 1}
    """

    def zero(self) -> dict[str, int]:
        """Return no counts."""
        return {}

    def fold(self, acc: dict[str, int], part: dict[str, int], /) -> dict[str, int]:
        """Add one part's counts."""
        for key, count in part.items():
            acc[key] = acc.get(key, 0) + count
        return acc


@dataclass(frozen=True)
class OrderedSum:
    """Adds numbers or equally shaped arrays left to right: one fixed bracketing for floating sums.

    >>> fold_all(OrderedSum(), [0.1, 0.2, 0.3]) == (0.1 + 0.2) + 0.3
    True
    """

    def zero(self) -> Any:
        """Return nothing: the first part is the start, so that its dtype decides."""
        return None

    def fold(self, acc: Any, part: Any, /) -> Any:
        """Add one part on the right."""
        return part if acc is None else acc + part


@dataclass(frozen=True)
class CanonicalTree:
    """Adds in the canonical binary tree over shard indices: ``((0+1)+(2+3))+4``.

    The accumulator is a stack of (number of leaves, sum): equal neighbours merge at once, as in a binary counter, so
    at most log2(n) sums are held. ``result`` merges what is left from the right. One shape for each number of leaves.

    >>> tree = CanonicalTree()
    >>> tree.result(fold_all(tree, ["a", "b", "c", "d", "e"]))
    'abcde'
    """

    def zero(self) -> list[tuple[int, Any]]:
        """Return an empty stack."""
        return []

    def fold(self, acc: list[tuple[int, Any]], part: Any, /) -> list[tuple[int, Any]]:
        """Push a leaf and merge equal neighbours."""
        size, total = 1, part
        while acc and acc[-1][0] == size:
            left_size, left = acc.pop()
            size, total = left_size + size, left + total
        acc.append((size, total))
        return acc

    def result(self, acc: list[tuple[int, Any]]) -> Any:
        """Merge the unfinished subtrees, smallest first."""
        if not acc:
            return None
        total = acc[-1][1]
        for _, left in reversed(acc[:-1]):
            total = left + total
        return total


@dataclass(frozen=True)
class Concat:
    """Puts arrays or lists one after the other.

    >>> Concat().result(fold_all(Concat(), [[1, 2], [3]]))
    [1, 2, 3]
    """

    def zero(self) -> list[Any]:
        """Return no pieces."""
        return []

    def fold(self, acc: list[Any], part: Any, /) -> list[Any]:
        """Append one piece; joining once at the end keeps it linear."""
        acc.append(part)
        return acc

    def result(self, acc: list[Any]) -> list[Any] | NDArray[Any]:
        """Join the pieces."""
        if acc and isinstance(acc[0], np.ndarray):
            return np.concatenate(acc)
        return [item for piece in acc for item in piece]


@dataclass(frozen=True)
class Best:
    """Keeps the smallest part by a total key; equal keys keep the earlier shard.

    >>> fold_all(Best(key=len), ["ccc", "a", "b"])
    'a'
    """

    key: Callable[[Any], Any]

    def zero(self) -> Any:
        """Return nothing."""
        return None

    def fold(self, acc: Any, part: Any, /) -> Any:
        """Keep the better of the two."""
        return part if acc is None or self.key(part) < self.key(acc) else acc
