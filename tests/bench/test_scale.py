"""The simulator behind docs/scale.md: what must hold of any run, whatever the costs, and that its record is whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale_model import World, _tasks, fit, predict, training
from benchmarks.scale_sim import Step, simulate, simulate_many, step_seconds
from hypothesis import given, settings
from hypothesis import strategies as st

RECORD = Path(__file__).resolve().parents[2] / "benchmarks" / "records" / "scale.json"
TASKS = st.lists(st.integers(0, 1000), max_size=60)
COSTS = st.integers(0, 300)
WORKERS = st.integers(1, 12)
FREE = World(link=math.inf, storage=math.inf, disk=math.inf, remote=0.0)  # only CPUs cost anything


@given(tasks=TASKS, workers=WORKERS, driver=COSTS, link=COSTS)
@settings(deadline=None)
def test_work_is_conserved_and_nothing_is_faster_than_its_busiest_resource(
    tasks: list[int], workers: int, driver: int, link: int
) -> None:
    found = simulate(tasks, workers=workers, driver=driver, link=link)
    assert (found.worker, found.driver, found.link) == (sum(tasks), driver * len(tasks), link * len(tasks))
    assert found.wall * workers >= found.worker
    assert found.wall >= max(found.driver, found.link, max(tasks, default=0))
    assert found.wall <= found.worker + found.driver + found.link


@given(tasks=TASKS, workers=WORKERS, driver=COSTS)
@settings(deadline=None)
def test_no_more_shards_are_ahead_of_the_fold_than_the_window_allows(
    tasks: list[int], workers: int, driver: int
) -> None:
    assert simulate(tasks, workers=workers, driver=driver).most_ahead <= 4 * workers


@given(tasks=TASKS)
def test_one_worker_takes_the_sum_of_its_shards(tasks: list[int]) -> None:
    assert simulate(tasks, workers=1).wall == sum(tasks)


@given(tasks=TASKS, driver=COSTS)
def test_one_shard_at_a_time_takes_the_sum_of_tasks_and_driver(tasks: list[int], driver: int) -> None:
    assert simulate(tasks, workers=1, driver=driver, window=1).wall == sum(tasks) + driver * len(tasks)


@given(
    number=st.integers(0, 80),
    task=st.integers(0, 1000),
    driver=COSTS,
    link=COSTS,
    workers=WORKERS,
)
@settings(deadline=None)
def test_equal_shards_are_never_slower_with_one_more_worker(
    number: int, task: int, driver: int, link: int, workers: int
) -> None:
    few = simulate([task] * number, workers=workers, driver=driver, link=link)
    assert simulate([task] * number, workers=workers + 1, driver=driver, link=link).wall <= few.wall


def test_a_slow_first_shard_holds_the_others_back_by_the_window() -> None:
    tasks = [100] + [1] * 20
    # 7 of 20 were done meanwhile, 13 are left to two workers
    assert simulate(tasks, workers=2).wall == 100 + 7
    assert simulate(tasks, workers=2, window=30).wall == 100


@pytest.mark.parametrize(("task", "driver", "workers"), [(640, 3, 8), (640, 200, 8), (64, 1, 64)])
def test_the_pace_beyond_the_longest_simulation_is_that_of_a_whole_one(
    task: int, driver: int, workers: int
) -> None:
    whole = simulate([task] * 4096, workers=workers, driver=driver).wall
    assert simulate_many(4096, task, workers=workers, driver=driver, longest=1024) == whole


def test_a_training_step_shrinks_with_workers_and_refuses_more_than_gradient_shards() -> None:
    step = Step(row=1.0, batch=8, add=0.0, reduce=0.0, update=0.0, wake=0.0)
    taken = [
        sum(step_seconds(step, shards=8, workers=w, largest_share=1.0).values()) for w in (1, 2, 3, 4, 8)
    ]
    # three workers: the one with three shards of eight is waited for
    assert taken == [
        8.0,
        4.0,
        3.0,
        2.0,
        1.0,
    ]
    with pytest.raises(ValueError, match="9 workers for 8 gradient shards"):
        step_seconds(step, shards=8, workers=9, largest_share=1.0)


def cost(size: int, *, rest: float) -> dict[str, Any]:
    stage = {"name": "map", "shards": size, "task": 2.0 * size, "driver": 0.5 * size, "part_bytes": 10 * size}
    return {"input_bytes": 100 * size, "output_bytes": 0, "plan": 0.0, "rest": rest, "stages": [stage]}


def test_the_model_gives_back_the_run_it_was_fitted_on() -> None:
    model = fit(cost(2, rest=3.0), cost(4, rest=4.0))
    found = predict(model, 400, 1, FREE)
    # the driver works beside its worker, but for the last part
    assert found["seconds"] == 4 * 2.0 + 0.5 + 4.0
    assert found["uses"]["workers"] == 8.0
    assert found["bottleneck"] == "workers"


def test_nodes_of_a_light_stage_share_tasks_where_there_are_many() -> None:
    stage = {"name": "count 1", "shards": 1, "task": 2.0, "driver": 0.5, "part_bytes": 10}
    first = {**stage, "name": "encode"}
    found = {"name": "duplicates", **{key: stage[key] for key in ("shards", "task", "driver", "part_bytes")}}
    large = {**cost(1, rest=0.0), "input_bytes": 1 << 27, "stages": [first, found, stage]}
    model = fit({**large, "input_bytes": 1 << 26}, large)
    (light,) = _tasks(model["stages"][2], 8192 << 27, model)
    (heavy,) = _tasks(model["stages"][0], 8192 << 27, model)
    assert (heavy.number, heavy.task, heavy.driver) == (8192, 2.0, 0.5)
    assert (light.number, light.task, light.driver) == (2048, 8.0, 2.0)


def test_the_committed_record_can_be_simulated_again() -> None:
    record = json.loads(RECORD.read_bytes())
    assert record["name"] == "scale"
    assert record["equal"] is True
    details = record["details"]
    world = World(**details["assumed"])
    for name, model in details["models"].items():
        size, predicted = next(iter(details["predictions"][name].items()))
        assert predict(model, int(size), 8, world) == predicted["8"], name
    assert [row["workers"] for row in training(details["costs"]["lm"])] == [1, 2, 4, 8, 32, 64]
