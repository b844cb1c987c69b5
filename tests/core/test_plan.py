"""Cutting covers every unit once, and the plan's digest knows everything that matters and nothing else."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.plan import Plan, Shard, ShardTable, cut

PLAN = Plan(
    job="count",
    version=1,
    seed=0,
    config_digest="c",
    input_digest="i",
    source_names=("a.txt",),
    shards=cut([10], 4),
)


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 20))
def test_every_unit_belongs_to_exactly_one_shard(sizes: list[int], cell: int) -> None:
    units = [(shard.source, unit) for shard in cut(sizes, cell) for unit in range(shard.start, shard.stop)]
    assert units == [(source, unit) for source, size in enumerate(sizes) for unit in range(size)]


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 20))
def test_shards_are_numbered_in_order_and_never_empty_or_too_long(sizes: list[int], cell: int) -> None:
    table = cut(sizes, cell)
    assert [shard.index for shard in table] == list(range(len(table)))
    assert all(0 < shard.stop - shard.start <= cell for shard in table)


def test_a_cell_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        cut([1], 0)


def test_a_million_shards_are_one_table() -> None:
    table = cut([8_000_000], 8)
    assert len(table) == 1_000_000
    assert table[-1] == Shard(999_999, 0, 7_999_992, 8_000_000)
    assert [shard.index for shard in table[5:8]] == [5, 6, 7]
    with pytest.raises(IndexError):
        table[1_000_000]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job", "x"),
        ("version", 2),
        ("seed", 1),
        ("config_digest", "x"),
        ("input_digest", "x"),
        ("shards", ShardTable.from_ranges(source=[0], start=[0], stop=[10])),
    ],
)
def test_every_field_that_matters_changes_the_digest(field: str, value: object) -> None:
    assert dataclasses.replace(PLAN, **{field: value}).digest != PLAN.digest  # type: ignore[arg-type]  # parametrized


def test_where_the_inputs_lie_does_not_change_the_digest() -> None:
    assert dataclasses.replace(PLAN, inputs="/somewhere/else").digest == PLAN.digest


def test_a_shard_is_named_with_its_source_and_range() -> None:
    assert PLAN.describe(PLAN.shards[1]) == "shard 1 (a.txt, 4..8)"
