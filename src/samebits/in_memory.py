"""Map a task over shards whose parts nobody keeps: predictions, distances of graphs in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from samebits.api import open_executor
from samebits.core.engine import Engine
from samebits.core.options import RunOptions
from samebits.core.plan import Plan, Shard, ShardTable
from samebits.jobs import get_job

__all__ = ["map_in_memory"]

Part = TypeVar("Part")


def map_in_memory(
    job: str,
    stage: str,
    task: Callable[[Shard, Any], Part],
    shards: ShardTable,
    *,
    state: Any,
    unit: str,
    names: tuple[str, ...] = (),
    workers: int | str = "auto",
) -> Iterator[tuple[Shard, Part]]:
    """Yield (shard, part) in shard order of a task whose parts nobody keeps: no journal, no artifact.

    Args:
        job: Name of the job whose executor and memory needs apply.
        stage: Name of the stage, for messages.
        task: What to run.
        shards: Over what.
        state: Given to every call.
        unit: What shards count, for people.
        names: Names of the sources, for messages.
        workers: Number of workers, or auto.
    """
    found = get_job(job)
    planned = Plan(
        job=job,
        version=found.version,
        seed=0,
        config_digest="",
        input_digest="",
        source_names=names or (stage,),
        shards=shards,
    )
    with open_executor(found, planned, RunOptions(workers=str(workers))) as (executor, _):
        yield from Engine(executor, plan=planned).map_ordered(stage, task, shards, state=state, unit=unit)
