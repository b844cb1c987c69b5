"""The shape of a fold on workers: how many shards are a node, and how many partitions there are. From the plan alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import ShardTable

__all__ = [
    "consecutive",
    "fan_in_of",
    "group_shards",
    "light_nodes",
    "node_units",
    "num_partitions",
    "row_starts",
]

# Nodes of a plan: enough for every worker of a large cluster, few enough that none of them waits for the driver, and on one
# machine a node for each shard up to a gigabyte.
FEWEST_NODES = 64
FAN_IN = 32
MANY_NODES = 5000  # of more than these with ``FAN_IN`` shards, every one costs the driver more than it gives the workers
MOST_FAN_IN = 64
# Tasks of a stage over nodes that are done in no time: four nodes share one while that leaves some for every worker of a machine, and
# more where there would still be too many tasks.
FEWEST_LIGHT_TASKS = 16
LIGHT_NODES = 4
MOST_LIGHT_TASKS = 2048
# What a worker holds as rows; twice as much of a huge input, because every node costs the driver its share in every stage.
MOST_ROW_UNITS = 64 << 20
HUGE_UNITS = 100 << 30
# Partitions by key: one for each 64 MiB up to 64, so that two workers share the work of a small fold; above, one for each GiB.
PARTITION_BYTES = 64 << 20
SMALL_PARTITIONS = 64
LARGE_PARTITION_BYTES = 1 << 30
MOST_PARTITIONS = 512


def fan_in_of(num_shards: int) -> int:
    """Return how many consecutive shards are one node.

    >>> [fan_in_of(number) for number in (0, 64, 130, 500, 100_000, 1_000_000)]
    [1, 1, 2, 7, 32, 64]
    """
    few = min(max(1, num_shards // FEWEST_NODES), FAN_IN)
    return max(few, min(num_shards // MANY_NODES, MOST_FAN_IN))


def light_nodes(num_nodes: int) -> int:
    """Return how many nodes share a task of a stage that is done in no time.

    >>> [light_nodes(number) for number in (1, 31, 32, 68, 8000, 16_000)]
    [1, 1, 2, 4, 4, 7]
    """
    return max(1, min(num_nodes // FEWEST_LIGHT_TASKS, LIGHT_NODES), num_nodes // MOST_LIGHT_TASKS)


def num_partitions(num_bytes: int) -> int:
    """Return how many partitions by key an input of so many bytes is worth: a piece has its price however small it is.

    >>> [num_partitions(number) for number in (0, 1 << 20, 100 << 20, 20 << 30, 100 << 30, 1 << 40)]
    [1, 1, 2, 64, 100, 512]
    """
    small = min(-(-num_bytes // PARTITION_BYTES), SMALL_PARTITIONS)
    return max(1, small, min(num_bytes // LARGE_PARTITION_BYTES, MOST_PARTITIONS))


def node_units(num_units: int) -> int:
    """Return how much of an input of so many units (bytes, mostly) a worker holds as rows.

    >>> [node_units(number) >> 20 for number in (1 << 30, 1 << 40)]
    [64, 128]
    """
    return 2 * MOST_ROW_UNITS if num_units >= HUGE_UNITS else MOST_ROW_UNITS


def row_starts(shards: ShardTable) -> NDArray[np.int64]:
    """Return the first shard of each node whose rows one worker holds in memory: few shards, and not much of them.

    >>> from samebits.core.plan import cut
    >>> row_starts(cut([1 << 20] * 128 + [1 << 30] * 2, cell=1 << 40))[-4:]
    array([124, 126, 128, 129])
    """
    number, fan_in = len(shards), fan_in_of(len(shards))
    ends = np.cumsum(shards.columns[2] - shards.columns[1])  # units up to the end of each shard
    most_units = node_units(int(ends[-1]) if number else 0)
    before = np.concatenate([[0], ends[:-1]])[:number]
    # of each shard the first that does not fit into a node with it; a shard that is too long is a node by itself
    stops = np.maximum(np.searchsorted(ends, before + most_units, side="right"), np.arange(1, number + 1))
    nexts = np.minimum(stops, np.arange(number) + fan_in).tolist()
    starts: list[int] = []
    first = 0
    while first < number:
        starts.append(first)
        first = nexts[first]
    return np.array(starts, np.int64)


def group_shards(shards: ShardTable, starts: NDArray[np.int64]) -> ShardTable:
    """Return one range for each node: it begins where its first shard does and is as long as all of them.

    >>> group_shards(ShardTable.from_ranges(source=[0, 0, 1], start=[0, 8, 0], stop=[8, 9, 4]), np.array([0, 2]))[0]
    Shard(index=0, source=0, start=0, stop=9)
    """
    if len(starts) == len(shards):
        return shards
    source, start, stop = shards.columns
    lengths = np.add.reduceat(stop - start, starts)
    return ShardTable.from_ranges(source=source[starts], start=start[starts], stop=start[starts] + lengths)


def consecutive(number: int, size: int) -> ShardTable:
    """Return shards over ``number`` things, ``size`` at a time."""
    start = np.arange(0, number, size)
    return ShardTable.from_ranges(
        source=np.zeros(len(start)), start=start, stop=np.minimum(start + size, number)
    )
