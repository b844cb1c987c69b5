"""The cost model: what a job costs in pieces, what is assumed of the machines, and what follows for sizes and workers.

``fit`` turns the measured costs of two input sizes into a model, ``predict`` plays it for any size and number of workers and names
the bottleneck, ``training`` does the same for a step of lockstep training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.scale_sim import Step, simulate_many, step_seconds

__all__ = ["LOCAL_WORKERS", "World", "fit", "predict", "training"]

LOCAL_WORKERS = 8  # up to here one machine with as many cores; above, a cluster
NS = 1_000_000_000
# stages whose shards are languages or ranges of features, not pieces of the input
FIXED = (
    "project",
    "refine",
)
LOCKSTEP = ((1, 4), (2, 4), (4, 4), (8, 8), (32, 32), (64, 64))  # (workers, gradient shards)


@dataclass(frozen=True, slots=True)
class World:
    """What is assumed of the machines, not measured.

    Attributes:
        link: Bytes a second of one machine's network.
        storage: Bytes a second that all workers together read from shared storage.
        disk: Bytes a second of the driver's disk, in and out.
        cores: Of the driver's machine.
        remote: The driver's seconds for each shard sent to another process and back.
    """

    link: float = 1.25e9
    storage: float = 20e9
    disk: float = 2e9
    cores: int = LOCAL_WORKERS
    remote: float = 4.3e-4


def fit(
    small: dict[str, Any],
    large: dict[str, Any],
    *,
    power: float = 1.0,
    one_file: bool = False,
    in_bytes: bool = True,
) -> dict[str, Any]:
    """Turn the costs of two sizes into a model: what is fixed, and what goes with the bytes of the input.

    What the driver does after the stages grows with the bytes to the ``power``: 1 for an output as long as the input, 0 for models,
    between for a table of distinct words. ``one_file`` says that the input is one compressed file: one shard, however large; ``in_bytes`` that sizes
    are bytes that the plan hashes and workers read, not pairs.
    """
    span = large["input_bytes"] ** power - small["input_bytes"] ** power
    growing = max(0.0, (large["rest"] - small["rest"]) / span) if power else 0.0
    plan_power = 1.0 if in_bytes else 0.5  # n graphs have n * n / 2 pairs
    sizes = [cost["input_bytes"] ** plan_power for cost in (small, large)]
    reading = (large["plan"] - small["plan"]) / (sizes[1] - sizes[0])
    reading = reading if reading > 0 else large["plan"] / sizes[1]  # too quick to tell the sizes apart
    stages = []
    for after in large["stages"]:
        shards = after["shards"]
        stages.append(
            {
                "name": after["name"],
                "grows": after["name"] not in FIXED,
                "shards": shards,
                "shard_bytes": large["input_bytes"] / shards,
                "task": after["task"] / shards,
                "driver": max(0.0, after["driver"]) / shards,
                "part_bytes": after["part_bytes"] / shards,
            }
        )
    return {
        "plan": reading,
        "plan_power": plan_power,
        "rest": max(0.0, large["rest"] - growing * large["input_bytes"] ** power),
        "rest_growing": growing,
        "rest_power": power,
        "one_file": one_file,
        "in_bytes": in_bytes,
        "output": large["output_bytes"] / large["input_bytes"],
        "stages": stages,
    }


def predict(model: dict[str, Any], num_bytes: int, workers: int, world: World) -> dict[str, Any]:
    """Return seconds, what they are spent on, and the bottleneck of a run of one job."""
    local = workers <= LOCAL_WORKERS
    hashing = model["plan"] * num_bytes ** model["plan_power"]
    if model["in_bytes"]:  # as many threads as workers, but no faster than the bytes come in
        hashing = max(hashing / min(workers, world.cores), num_bytes / (world.disk if local else world.link))
    uses = {"plan hashing": hashing}
    total = uses["plan hashing"]
    moved = 0.0
    for stage in model["stages"]:
        wall, used, part_bytes = _stage(stage, num_bytes, workers, world, model)
        total, moved = total + wall, moved + part_bytes
        for name, seconds in used.items():
            uses[name] = uses.get(name, 0.0) + seconds
    uses["final write"] = model["rest"] + model["rest_growing"] * num_bytes ** model["rest_power"]
    total += uses["final write"]
    writing = (moved + model["output"] * num_bytes) / world.disk
    uses["driver's disk"] = writing
    total = max(total, writing)
    return {
        "seconds": total,
        "bottleneck": max(uses, key=lambda name: (uses[name], name)),
        "uses": uses,
        "part_bytes": moved,
    }


def _stage(
    stage: dict[str, Any], num_bytes: int, workers: int, world: World, model: dict[str, Any]
) -> tuple[float, dict[str, float], float]:
    local, one_file = workers <= LOCAL_WORKERS, model["one_file"]
    cut = stage["grows"] and not one_file
    shards = max(1, round(num_bytes / stage["shard_bytes"])) if cut else stage["shards"]
    task = stage["task"] * (num_bytes / stage["shard_bytes"] if one_file else 1)
    driver = stage["driver"] + (0.0 if local else world.remote)
    link = 0.0 if local else stage["part_bytes"] / world.link
    wall = (
        simulate_many(
            shards, round(task * NS), workers=workers, driver=round(driver * NS), link=round(link * NS)
        )
        / NS
    )
    if local:  # driver and workers share the cores
        wall = max(wall, shards * (task + driver) / world.cores)
    reads = stage["grows"] and model["in_bytes"]
    read = num_bytes / (world.disk if local else world.storage) if reads else 0.0
    used = {
        "one compressed file" if one_file else "workers": max(task, shards * task / workers),
        "driver fold": shards * driver,
        "parts over the link": shards * link,
        "reading the input": read,
    }
    return max(wall, read), used, shards * stage["part_bytes"]


def training(cost: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each number of workers and gradient shards; the batch has a row for each shard at least."""
    rows = []
    for workers, shards in LOCKSTEP:
        batch = max(cost["batch"], shards)
        step = Step(cost["row"], batch, cost["add"], cost["reduce"], cost["update"], cost["wake"])
        uses = step_seconds(
            step, shards=shards, workers=workers, largest_share=cost["largest_share"][str(workers)]
        )
        seconds = sum(uses.values())
        rows.append(
            {
                "workers": workers,
                "shards": shards,
                "batch": batch,
                "step_seconds": seconds,
                "tokens_per_second": batch * cost["tokens_per_step"] / cost["batch"] / seconds,
                "bottleneck": max(uses, key=lambda name: (uses[name], name)),
                "uses": uses,
                "shared_bytes": (3 + shards) * 4 * cost["floats"],
            }
        )
    return rows
