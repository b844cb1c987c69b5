"""The canonical tree over shard numbers, and who does which part of it.

Floating-point addition depends on its bracketing, so the bracketing is fixed by G alone: for sizes 1, 2, 4, ... node ``l`` takes
node ``l + size``, for any G. On one machine all merges are done when all shards are, each worker on its own slice of the
buffer. Ranks on several machines own contiguous shards: most merges lie inside one rank and are done at once, and the rest
after the roots were sent around. Either way an element sees the same additions.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass

__all__ = [
    "Merge",
    "Split",
    "fold",
    "merges",
    "owner_of",
    "shards_of",
    "slice_of",
    "split",
    "turns_of",
    "validation_of",
]


@dataclass(frozen=True, slots=True)
class Merge:
    """Node ``left`` takes node ``right``; together they cover shards ``left .. stop - 1``."""

    left: int
    right: int
    stop: int


def merges(num_shards: int) -> list[Merge]:
    """Return all merges, level by level.

    >>> [(m.left, m.right) for m in merges(5)]
    [(0, 1), (2, 3), (0, 2), (0, 4)]
    """
    found, size = [], 1
    while size < num_shards:
        found += [
            Merge(left, left + size, min(left + 2 * size, num_shards))
            for left in range(0, num_shards - size, 2 * size)
        ]
        size *= 2
    return found


def fold(values: MutableSequence[float]) -> float:
    """Add numbers in the order of the tree; the list is used up.

    >>> fold([1.0, 2.0, 3.0])
    6.0
    """
    for merge in merges(len(values)):
        values[merge.left] += values[merge.right]
    return values[0] if values else 0.0


def shards_of(worker: int, workers: int, num_shards: int) -> range:
    """Return the contiguous shards of a worker.

    >>> [list(shards_of(w, 3, 4)) for w in range(3)]
    [[0], [1], [2, 3]]
    """
    return range(worker * num_shards // workers, (worker + 1) * num_shards // workers)


def turns_of(worker: int, workers: int, num_shards: int) -> list[int]:
    """Return the shards in the order in which a worker of one memory takes them: its own, then what others have not taken.

    Own ones go back and forth over the workers, so that a worker with one of the longest has one of the shortest too, where
    the longest come first.

    >>> [turns_of(w, 2, 4) for w in range(2)]
    [[0, 3, 1, 2], [1, 2, 0, 3]]
    """
    rounds = [divmod(shard, workers) for shard in range(num_shards)]
    own = [(workers - 1 - place if number % 2 else place) == worker for number, place in rounds]
    return sorted(range(num_shards), key=lambda shard: (not own[shard], shard))


def validation_of(worker: int, workers: int, num_shards: int) -> range:
    """Return the contiguous validation shards of a worker; there may be fewer of them than workers, and worker 0 has the first.

    Only worker 0 is sure to be where the output is: what an objective writes at its first validation shard arrives there.

    >>> [list(validation_of(w, 3, 2)) for w in range(3)]
    [[0], [1], []]
    """
    return range(-(-worker * num_shards // workers), -(-(worker + 1) * num_shards // workers))


def owner_of(shard: int, workers: int, num_shards: int) -> int:
    """Return the worker that computes a shard."""
    return ((shard + 1) * workers - 1) // num_shards


def slice_of(worker: int, workers: int, start: int, stop: int, chunk: int) -> tuple[int, int]:
    """Return a worker's part of ``[start, stop)``, cut on chunk borders; all parts together cover it once.

    >>> [slice_of(w, 3, 0, 40, 10) for w in range(3)]
    [(0, 10), (10, 20), (20, 40)]
    """
    num_chunks = (stop - start) // chunk
    first, last = worker * num_chunks // workers, (worker + 1) * num_chunks // workers
    return start + first * chunk, start + last * chunk


@dataclass(frozen=True, slots=True)
class Split:
    """The tree as one worker sees it.

    Attributes:
        local: After which shard which merges can be done at once, inside this worker.
        cross: Merges between workers, in tree order; everybody does them on his slice.
    """

    local: dict[int, list[Merge]]
    cross: list[Merge]


def split(worker: int, workers: int, num_shards: int) -> Split:
    """Divide the merges of the tree into those of this worker and those between workers."""
    local: dict[int, list[Merge]] = {}
    cross = []
    for merge in merges(num_shards):
        owner = owner_of(merge.left, workers, num_shards)
        if owner != owner_of(merge.stop - 1, workers, num_shards):
            cross.append(merge)
        elif owner == worker:
            local.setdefault(merge.stop - 1, []).append(merge)
    return Split(local, cross)
