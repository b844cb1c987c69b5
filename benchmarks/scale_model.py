"""The cost model: what a job costs in pieces, what is assumed of the machines, and what follows for sizes and workers.

``fit`` turns the measured costs of two input sizes into a model, ``predict`` plays it for any size and number of workers and names
the bottleneck, ``training`` does the same for a step of lockstep training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.scale_sim import Step, simulate_many, step_seconds
from samebits.data.folding.shape import fan_in_of, light_nodes, node_units, num_partitions
from samebits.data.folding.tree import merged_nodes, most_files
from samebits.data.inputs.hashing import task_bytes
from samebits.data.sealing import BLOCK_BYTES
from samebits.graph.distance.matrix import PairGrid
from samebits.graph.distance.matrix_fold import num_bands
from samebits.langid.training.on_workers.ngrams import num_ranges

__all__ = ["LOCAL_WORKERS", "World", "fit", "predict", "training"]

LOCAL_WORKERS = 8  # up to here one machine with as many cores; above, a cluster
NS = 1_000_000_000
# stages whose shards are ranges of features, not pieces of the input
FIXED = ("refine",)
# stages of a fold on workers, by the end of their names; the stage before a reduce is cut into nodes
REDUCE, WRITE = " reduce", " write"
BLOCKS = "write"  # stages that write blocks of the output begin so; their rows come from nodes
# stages of a training whose rows stay with the workers, known by the first of these; a number behind a name is a cycle
BY_KEY = ("duplicates", "count reduce", "n-grams")
BY_ROWS = ("encode", "count", "score", "suspects", "report", "sample", "words", "ledger")
READING = ("encode", "decode")  # stages of rows that read the input
LIGHT = (
    "count",
    "score",
    "sample",
    "report",
    "words",
    "ledger",
)  # stages over kept rows in which several nodes share a task
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
        elsewhere: Shards are sent to other processes on one machine too.
    """

    link: float = 1.25e9
    storage: float = 20e9
    disk: float = 2e9
    cores: int = LOCAL_WORKERS
    remote: float = 4.3e-4
    elsewhere: bool = False


def fit(
    small: dict[str, Any],
    large: dict[str, Any],
    *,
    power: float = 1.0,
    in_bytes: bool = True,
    words: dict[str, Any] | None = None,
    many: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Turn the costs of two sizes into a model: what is fixed, and what goes with the bytes of the input.

    What the driver does after the stages grows with the bytes to the ``power``: 1 for an output as long as the input, 0 for models,
    between for a table of distinct words. ``in_bytes`` says that sizes are bytes that the plan hashes and workers read, not pairs.
    ``words`` are what each different word costs the driver, where inputs of both sizes have the same ones, and how many they are.
    ``many`` is what the driver does in and beside the stages of a third and a fourth input, much larger ones, if that was measured: then they tell what
    grows, and with ``large`` what each further shard of a node costs.
    """
    rest_power = (
        power if in_bytes else 0.5
    )  # after the stages come tables of graphs: n graphs have n * n / 2 pairs
    less, more = many or (small, large)
    span = more["input_bytes"] ** rest_power - less["input_bytes"] ** rest_power
    growing = max(0.0, (more["rest"] - less["rest"]) / span) if power else 0.0
    if words is not None:
        growing = max(0.0, words["driver"]) * words["number"] / large["input_bytes"] ** rest_power
    plan_power = 1.0 if in_bytes else 0.5  # n graphs have n * n / 2 pairs
    sizes = [cost["input_bytes"] ** plan_power for cost in (small, large)]
    reading = (large["plan"] - small["plan"]) / (sizes[1] - sizes[0])
    reading = reading if reading > 0 else large["plan"] / sizes[1]  # too quick to tell the sizes apart
    stages = []
    names = [stage["name"] for stage in large["stages"]]
    for after in large["stages"]:
        shards = after["shards"]
        if not shards:  # nothing to do at this size, e.g. no row to list
            continue
        stages.append(
            {
                "name": after["name"],
                "kind": _kind(after["name"], names),
                "grows": after["name"] not in FIXED,
                "shards": shards,
                "shard_bytes": large["input_bytes"] / shards,
                "task": after["task"] / shards,
                "driver": max(0.0, after["driver"]) / shards,
                "driver_shard": _driver_of_shard(after, large, many),
                "part_bytes": after["part_bytes"] / shards,
            }
        )
    return {
        "plan": reading,
        "plan_power": plan_power,
        "rest": max(0.0, large["rest"] - growing * large["input_bytes"] ** rest_power),
        "growing_power": rest_power,
        "rest_growing": growing,
        "removing": _growth(small, large, "removing") if in_bytes else 0.0,
        "rest_power": power,
        "in_bytes": in_bytes,
        "output": large["output_bytes"] / large["input_bytes"] ** power,
        "stages": stages,
    }


def _driver_of_shard(stage: dict[str, Any], large: dict[str, Any], many: Sequence[dict[str, Any]]) -> float:
    """Return what each further shard of a node costs the driver: of three sizes of nodes, the steeper of two ways to the largest.

    From nodes of one shard, where caches are warmer, and from nodes of some.
    """
    found = [(1.0, stage["driver"] / stage["shards"])]
    for cost in many:
        same = [each for each in cost.get("stages", ()) if each["name"] == stage["name"] and each["shards"]]
        if same:
            shards = stage["shards"] * cost["input_bytes"] / large["input_bytes"]
            found.append((shards / same[0]["shards"], same[0]["driver"] / same[0]["shards"]))
    *fewer, (most, seconds) = found
    slopes = [(seconds - less) / (most - few) for few, less in fewer if most - few >= 1.0]
    return max([0.0, *map(float, slopes)])


def _growth(small: dict[str, Any], large: dict[str, Any], name: str) -> float:
    """Return by how much a cost grows with each byte of the input; records of before may not have it."""
    more = large.get(name, 0.0) - small.get(name, 0.0)
    return max(0.0, float(more / (large["input_bytes"] - small["input_bytes"])))


def _kind(name: str, names: Sequence[str]) -> str:
    """Tell a stage of shards (``map``) from those of a fold on workers.

    >>> counting = ["scan", "count", "count reduce", "count write", "write counts.jsonl"]
    >>> [_kind(name, counting) for name in counting]
    ['map', 'nodes', 'reduce', 'write', 'blocks']
    >>> [_kind(name, ["learn", "encode", "write"]) for name in ("learn", "encode", "write")]
    ['map', 'rows', 'blocks']
    >>> [_kind(name, ["encode", "duplicates", "count 1"]) for name in ("encode", "duplicates", "count 1")]
    ['kept', 'partitions', 'kept']
    """
    if name.split(" ")[0] == BLOCKS:
        return "blocks"
    if BY_KEY[0] in names:
        plain = name.rstrip(" 0123456789")
        return "partitions" if plain in BY_KEY else "kept" if plain in BY_ROWS else "map"
    if name.endswith(REDUCE):
        return "reduce"
    if name.endswith(WRITE):
        return "write"
    if name + REDUCE in names:
        return "nodes"
    keeps_rows = not any(other.endswith(REDUCE) for other in names)
    after = names[names.index(name) + 1 :][:1]
    return "rows" if keeps_rows and after and after[0].split(" ")[0] == BLOCKS else "map"


def predict(model: dict[str, Any], num_bytes: int, workers: int, world: World) -> dict[str, Any]:
    """Return seconds, what they are spent on, and the bottleneck of a run of one job."""
    uses = {"hashing": _hashing(model, num_bytes, workers, world)}
    total = uses["hashing"]
    moved = 0.0
    for stage in model["stages"]:
        for tasks in _tasks(stage, num_bytes, model):
            wall, used = _stage(tasks, num_bytes, workers, world, model)
            total, moved = total + wall, moved + tasks.number * tasks.part_bytes
            for name, seconds in used.items():
                uses[name] = uses.get(name, 0.0) + seconds
    uses["final write"] = model["rest"] + model["rest_growing"] * num_bytes ** model["growing_power"]
    if workers <= LOCAL_WORKERS:  # on a cluster the pages of kept files are in the memory of other machines
        uses["final write"] += model.get("removing", 0.0) * num_bytes
    total += uses["final write"]
    written = model["output"] * num_bytes ** model["rest_power"]
    if any(stage["kind"] == "blocks" for stage in model["stages"]) and workers > LOCAL_WORKERS:
        # workers keep every byte of the output, read it again and write it
        uses["shared storage"] = 3 * written / world.storage
        uses["driver's disk"] = moved / world.disk
    else:
        uses["driver's disk"] = (moved + written) / world.disk
    total = max(total, uses["driver's disk"], uses.get("shared storage", 0.0))
    return {
        "seconds": total,
        "bottleneck": max(uses, key=lambda name: (uses[name], name)),
        "uses": uses,
        "part_bytes": moved,
    }


def _hashing(model: dict[str, Any], num_bytes: int, workers: int, world: World) -> float:
    """Return what hashing takes: threads on one machine, tasks of a stage on a cluster, never faster than bytes come in."""
    seconds = float(model["plan"] * num_bytes ** model["plan_power"])
    if not model["in_bytes"]:
        return seconds  # graphs are parsed by the driver
    if workers <= LOCAL_WORKERS:
        return max(seconds / min(workers, world.cores), num_bytes / world.disk)
    size = task_bytes(num_bytes, workers)
    number = -(-num_bytes // size)
    wall = simulate_many(
        number, round(seconds / number * NS), workers=workers, driver=round(world.remote * NS)
    )
    return max(wall / NS, num_bytes / world.storage)


class _Tasks(NamedTuple):
    """Tasks of a stage, equally large: how many, their seconds, the driver's for each, and the bytes it gets."""

    number: int
    task: float
    driver: float
    part_bytes: float
    reads: bool


def _tasks(stage: dict[str, Any], num_bytes: int, model: dict[str, Any]) -> list[_Tasks]:
    """Return the stages that a measured one is at another size."""
    driver, part_bytes = stage["driver"], stage["part_bytes"]
    if stage["kind"] in ("reduce", "write"):
        return _fold_tasks(stage, num_bytes, model)
    if stage["kind"] == "partitions":
        number = num_partitions(num_bytes)
        if stage["name"].startswith("n-grams"):
            number = num_ranges(number)
        seconds = stage["task"] * num_bytes / stage["shard_bytes"]
        return [_Tasks(number, seconds / number, driver, part_bytes, False)]
    if stage["kind"] == "blocks":
        power, measured = model["rest_power"], stage["shard_bytes"] * stage["shards"]
        seconds = stage["task"] * stage["shards"] * (num_bytes / measured) ** power
        number = max(1, math.ceil(model["output"] * num_bytes**power / BLOCK_BYTES))
        return [_Tasks(number, seconds / number, driver, part_bytes, False)]
    shards = max(1, round(num_bytes / stage["shard_bytes"])) if stage["grows"] else stage["shards"]
    fan_in = fan_in_of(shards) if stage["kind"] in ("nodes", "rows", "kept") else 1
    if stage["kind"] in ("rows", "kept"):  # a node's rows are in the memory of one worker
        fan_in = min(fan_in, max(1, int(node_units(num_bytes) // stage["shard_bytes"])))
    reads = bool(stage["grows"]) and (stage["kind"] not in ("rows", "kept") or stage["name"] in READING)
    nodes = -(-shards // fan_in)
    # every part is taken in on its own, but several come in one message
    light = (
        light_nodes(nodes) if stage["kind"] == "kept" and stage["name"].rstrip(" 0123456789") in LIGHT else 1
    )
    driver += stage.get("driver_shard", 0.0) * (fan_in - 1)
    each = _Tasks(-(-nodes // light), stage["task"] * fan_in, driver, part_bytes, reads)
    return [each._replace(task=light * each.task, driver=light * driver, part_bytes=light * part_bytes)]


def _fold_tasks(stage: dict[str, Any], num_bytes: int, model: dict[str, Any]) -> list[_Tasks]:
    """Merge stages, reducers and writers: a file of pieces that covers b bytes costs as b to the model's power.

    Measured were files of one shard each, as many as the first stage had shards, and an output of their whole.
    """
    (counted,) = [other for other in model["stages"] if other["kind"] == "nodes"]
    power, total = model["rest_power"], stage["task"] * stage["shards"]
    measured_bytes = counted["shard_bytes"] * counted["shards"]
    # by key as many as the size is worth; by language as many as were measured
    partitions = num_partitions(num_bytes) if power else stage["shards"]
    if not model["in_bytes"]:  # bands of a matrix
        side = math.isqrt(2 * num_bytes) + 1
        partitions = num_bands(PairGrid(None, None, side, side, True))
    if stage["kind"] == "write":
        seconds = total * (num_bytes / measured_bytes) ** power
        return [_Tasks(partitions, seconds / partitions, stage["driver"], stage["part_bytes"], False)]
    shards = max(1, round(num_bytes / counted["shard_bytes"]))
    covered = float(fan_in_of(shards))  # shards in a file
    files, found = -(-shards // fan_in_of(shards)), []
    each = total / counted["shards"]
    while files > most_files(partitions):
        merged = merged_nodes(files, partitions)
        groups = -(-files // merged)
        task = each * covered**power * files / groups
        found.append(_Tasks(groups, task, stage["driver"], counted["part_bytes"], False))
        files, covered = groups, covered * merged
    seconds = files * each * covered**power
    return [*found, _Tasks(partitions, seconds / partitions, stage["driver"], stage["part_bytes"], False)]


def _stage(
    tasks: _Tasks, num_bytes: int, workers: int, world: World, model: dict[str, Any]
) -> tuple[float, dict[str, float]]:
    local = workers <= LOCAL_WORKERS
    driver = tasks.driver + (0.0 if local and not world.elsewhere else world.remote)
    link = 0.0 if local else tasks.part_bytes / world.link
    number, task = tasks.number, tasks.task
    wall = (
        simulate_many(
            number, round(task * NS), workers=workers, driver=round(driver * NS), link=round(link * NS)
        )
        / NS
    )
    if local:  # driver and workers share the cores
        wall = max(wall, number * (task + driver) / world.cores)
    reads = tasks.reads and model["in_bytes"]
    read = num_bytes / (world.disk if local else world.storage) if reads else 0.0
    used = {
        "workers": max(task, number * task / workers),
        "driver": number * driver,
        "parts over the link": number * link,
        "reading the input": read,
    }
    return max(wall, read), used


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
