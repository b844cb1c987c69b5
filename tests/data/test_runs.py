"""What the driver is told of the shards of a node: sums where there is nothing else to tell, and each run once."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.plan import Shard, ShardTable
from samebits.data.folding.runs import in_runs, taking_once
from samebits.data.folding.shape import fan_in_of, node_units, row_starts


class Adding:
    """A node whose shards tell bad rows and a number of lines."""

    def together(self, before: list[Any], after: list[Any], /) -> list[Any] | None:
        return None if before[0] or after[0] else [[], before[1] + after[1]]


def shards_of(sources: list[int]) -> list[Shard]:
    return [Shard(index, source, index, index + 1) for index, source in enumerate(sources)]


def test_shards_of_one_source_with_nothing_to_report_are_told_as_one() -> None:
    told = [[[], 1], [[], 2], [[], 3], [[], 4]]
    assert in_runs(Adding(), shards_of([0, 0, 1, 1]), told) == [[2, 2], [[[], 3], [[], 7]]]


def test_a_shard_with_bad_rows_is_told_by_itself() -> None:
    told = [[[], 1], [["bad"], 2], [[], 3], [[], 4]]
    assert in_runs(Adding(), shards_of([0] * 4), told) == [[1, 1, 2], [[[], 1], [["bad"], 2], [[], 7]]]


def test_a_job_that_does_not_say_how_is_told_of_each_shard() -> None:
    assert in_runs(object(), shards_of([0, 0]), ["a", "b"]) == [[1, 1], ["a", "b"]]


def test_each_run_is_handed_on_once_with_its_first_shard() -> None:
    taken: list[tuple[int, Any]] = []
    shards = ShardTable.from_ranges(source=[0] * 5, start=range(5), stop=range(1, 6))
    take = taking_once(shards, lambda shard, told: taken.append((shard.index, told)))
    nodes = [(0, [[2, 1], ["a", "b"]]), (3, [[2], ["c"]])]
    assert [take(*node) for node in nodes] == [True, True]
    assert [take(*node) for node in nodes] == [False, True]  # a piece was lost, and the stage runs again
    assert taken == [(0, "a"), (2, "b"), (3, "c")]


def starts_shard_by_shard(lengths: list[int]) -> list[int]:
    fan_in, most_units = fan_in_of(len(lengths)), node_units(sum(lengths))
    starts: list[int] = []
    units = 0
    for number, length in enumerate(lengths):
        units += length
        if not starts or number - starts[-1] == fan_in or units > most_units:
            starts.append(number)
            units = length
    return starts


@given(st.lists(st.sampled_from([1, 1 << 20, 8 << 20, 32 << 20, 64 << 20, 65 << 20]), max_size=400))
def test_nodes_of_rows_are_those_of_a_walk_over_all_shards(lengths: list[int]) -> None:
    """Cut with one search for each node, a plan of a million shards has the nodes it always had."""
    stops = np.cumsum(lengths, dtype=np.int64)
    table = ShardTable.from_ranges(source=[0] * len(lengths), start=stops - np.array(lengths), stop=stops)
    assert row_starts(table).tolist() == starts_shard_by_shard(lengths)
