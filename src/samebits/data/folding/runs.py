"""What the driver is told of a node's shards: those of one file with nothing to report are told as one.

A node has up to 64 shards, and taking each of them in cost the driver 0.01 to 0.03 ms, more in all than the rest of a node. Mostly they are
numbers that it adds up. So a job may say how two of them are one (``TogetherNode``), and the worker adds them up. Shards that have something
to report (bad rows, mostly) stay by themselves, because lines are counted from the beginning of a shard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from samebits.core.plan import Shard, ShardTable

__all__ = ["TogetherNode", "in_runs", "taking_once"]


@runtime_checkable
class TogetherNode(Protocol):
    """A node that can tell of several shards as of one.

    One whose shards are whole sources says ``across_sources = True``: then their lines are counted from nothing anyway.
    """

    def together(self, before: Any, after: Any, /) -> Any:
        """Return what is told of two consecutive runs of shards, of one source mostly; None if they must be told apart."""
        ...


def in_runs(node: object, shards: Sequence[Shard], told: Sequence[Any]) -> list[Any]:
    """Return of each run of shards how many they are, and what is told of them."""
    sizes: list[int] = []
    entries: list[Any] = []
    join = node.together if isinstance(node, TogetherNode) else None
    everywhere = bool(getattr(node, "across_sources", False))
    source = -1
    for shard, one in zip(shards, told, strict=True):
        is_next = entries and (everywhere or shard.source == source)
        joined = join(entries[-1], one) if join and is_next else None
        if joined is None:
            sizes.append(1)
            entries.append(one)
        else:
            sizes[-1] += 1
            entries[-1] = joined
        source = shard.source
    return [sizes, entries]


def taking_once(
    shards: ShardTable, take: Callable[[Shard, Any], None]
) -> Callable[[int, Sequence[Any]], bool]:
    """Return what hands on what is told of a node that begins with the given shard, and never twice.

    ``take`` is given the first shard of each run. It says whether nothing further has been handed on yet: a run that stops early stops there again.
    """
    taken, last = 0, -1

    def take_new(first: int, told: Sequence[Any]) -> bool:
        nonlocal taken, last
        if first >= taken:
            number, last = first, first
            for size, one in zip(*told, strict=True):
                take(shards[number], one)
                number += size
            taken = number
        return first == last

    return take_new
