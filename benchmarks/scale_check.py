"""Is the simulation right? Runs with one and two workers on threads, processes, Dask and Ray, predicted and done.

Inputs are some ten times as large as those that costs were measured on, so the prediction is one for another size too. Workers are started
before, and have done the job once on little input: a prediction knows no start-up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import RECORDS
from benchmarks.driver_data import many_of
from benchmarks.scale_model import World, predict
from benchmarks.scale_probe import cases
from samebits.core.ports.executor import Executor
from samebits.executors import ExecutorOptions, make_executor
from samebits.machine.cores import look_at_machine

__all__ = ["PLACES", "check", "predicted"]

PLACES = ("threads", "processes", "dask", "ray")
GIGABYTES = {"count": 1.0, "charset": 0.5, "langid_exact": 0.3, "tokens": 0.5}
IN_MEMORY = 1e12  # bytes a second: inputs that were just written come from memory


def check(
    models: dict[str, Any], folder: Path, places: Sequence[str], only: Sequence[str] = ()
) -> tuple[dict[str, Any], bool]:
    """Predict runs on this machine, and do them; say whether all digests of a job are equal."""
    found: dict[str, Any] = {}
    digests: dict[str, set[str]] = {}
    names = [name for name in GIGABYTES if not only or name in only]
    for place in places:
        for workers in (1, 2):
            executor = make_executor(place, ExecutorOptions(workers))
            try:
                for name in names:
                    seconds, digest, size = _run(name, folder, executor)
                    key = f"{name}_{workers}" if place == "threads" else f"{place}_{name}_{workers}"
                    found[key] = {"measured": seconds, "bytes": size, "place": place}
                    found[key]["predicted"] = predicted(models, key, found[key])
                    digests.setdefault(name, set()).add(digest)
            finally:
                executor.close()
    return found, all(len(same) == 1 for same in digests.values())


def predicted(models: dict[str, Any], key: str, run: dict[str, Any]) -> float:
    """Return the predicted seconds of a run that was done here."""
    place = run.get("place", "threads")
    name, _, workers = key.removeprefix(f"{place}_").rpartition("_")
    world = replace(_world(place), cores=look_at_machine().physical)
    return float(predict(models[name], run["bytes"], int(workers), world)["seconds"])


def _world(place: str) -> World:
    """Return this machine, and what a shard costs in a place on top of its task, as ``benchmarks.executors`` measured it."""
    if place == "threads":
        return World(disk=IN_MEMORY)
    record = json.loads((RECORDS / "executors.json").read_bytes())
    remote = float(record["details"]["median_seconds"][place]["a_long_shard"])
    return World(disk=IN_MEMORY, remote=remote, elsewhere=True)


def _run(name: str, folder: Path, executor: Executor) -> tuple[float, str, int]:
    """Return seconds and digest of a run, and the size of its input."""
    job, config = cases(folder / "large", folder / "bpe")[name]
    options = samebits.RunOptions(overwrite=True, resume=False)
    output = folder / "out" / "checked"
    samebits.run(job, config, output=output, options=options, executor=executor)
    many = many_of(folder / "large" / Path(config.inputs[0]).name, GIGABYTES[name])
    config = replace(config, inputs=(str(many),))
    record = samebits.run(job, config, output=output, options=options, executor=executor)
    size = sum(path.stat().st_size for path in many.rglob("*") if path.is_file())
    return record.seconds, record.artifact_digest, size
