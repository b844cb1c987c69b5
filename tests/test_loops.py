"""map_examples: a for-loop over examples, on any executor, with the same bits."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

import samebits
from samebits.errors import ConfigError, ShardFailed
from samebits.testing import ShuffledExecutor

DATA: list[dict[str, Any]] = [{"text": f"example {i}", "x": (i * 37 % 101) / 7.0} for i in range(300)]


def loss(example: dict[str, Any], state: float) -> float:
    return math.sin(float(example["x"])) * state * math.pow(10.0, float(example["x"]) % 17 - 8)


def picky(example: dict[str, Any], state: object) -> float:
    if example["x"] > 14:
        raise ValueError(f"too large: {example['x']:.2f}")
    return float(example["x"])


@pytest.mark.parametrize(
    ("executor", "workers", "shard_size"),
    [("serial", "1", 64), ("threads", "3", 7), ("threads", "2", 1000)],
)
def test_values_and_total_are_those_of_a_plain_loop(executor: str, workers: str, shard_size: int) -> None:
    options = samebits.RunOptions(executor=executor, workers=workers)
    report = samebits.map_examples(loss, DATA, 0.3, shard_size=shard_size, options=options)
    expected = [loss(example, 0.3) for example in DATA]
    assert report.values == expected
    assert report.total == math.fsum(expected)
    assert report.failures == []


def test_processes_give_the_values_of_a_plain_loop() -> None:
    options = samebits.RunOptions(executor="processes", workers="2")
    given = [example["x"] for example in DATA]
    report = samebits.map_examples(operator.mul, given, 0.1, shard_size=50, options=options)
    assert report.values == [x * 0.1 for x in given]
    assert report.total == math.fsum(x * 0.1 for x in given)


def test_the_order_of_arrival_never_reaches_the_result() -> None:
    found = [
        samebits.map_examples(loss, DATA, 1.0, shard_size=10, executor=ShuffledExecutor(seed=seed)).values
        for seed in range(3)
    ]
    assert found[0] == found[1] == found[2]


def test_the_first_failing_example_is_named_and_shown() -> None:
    first = next(i for i, example in enumerate(DATA) if example["x"] > 14)
    with pytest.raises(
        ShardFailed, match=rf"example {first} failed: ValueError: too large.*'example {first}'"
    ):
        samebits.map_examples(picky, DATA, shard_size=8, executor=ShuffledExecutor(seed=5))


def test_failures_can_be_skipped_and_are_listed() -> None:
    report = samebits.map_examples(
        picky, DATA, on_error="skip", options=samebits.RunOptions(executor="serial")
    )
    failed = [i for i, example in enumerate(DATA) if example["x"] > 14]
    assert [index for index, _ in report.failures] == failed
    assert all(report.values[i] is None for i in failed)
    assert report.total == math.fsum(float(e["x"]) for i, e in enumerate(DATA) if i not in set(failed))


def test_values_need_not_be_numbers_and_data_need_not_be_a_list() -> None:
    options = samebits.RunOptions(executor="serial")
    report = samebits.map_examples(lambda x, _: {"square": x * x}, range(3), options=options)
    assert (report.values[2], report.total) == ({"square": 4}, None)
    assert samebits.map_examples(picky, [], options=options) == samebits.ExamplesReport([], 0.0, [])


def test_a_shard_size_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="shard_size is 0"):
        samebits.map_examples(picky, DATA, shard_size=0)
