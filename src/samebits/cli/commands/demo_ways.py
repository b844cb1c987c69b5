"""Five really different ways to compute the same stages: other executors, other numbers of workers, a different hash seed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from samebits.core.observing import clock
from samebits.core.observing.events import Observer, ShardDone, StageDone, StageStarted
from samebits.errors import SamebitsError

__all__ = ["WAYS", "Way", "WayResult", "compute_ways"]


class Way(NamedTuple):
    """How to compute; what is computed is the recipe's business."""

    name: str
    executor: str
    workers: int
    hash_seed: str


class WayResult(NamedTuple):
    """The digest over all stages that one way gave."""

    way: Way
    digest: str
    seconds: float


STAGE = "the text again"
WAYS = (
    Way("1 worker, no threads", "serial", 1, "0"),
    Way("2 threads", "threads", 2, "0"),
    Way("3 threads", "threads", 3, "1"),
    Way("2 processes", "processes", 2, "2"),
    Way("a different hash seed", "threads", 2, "12345"),
)


def compute_ways(recipe: Path, folder: Path, observer: Observer) -> list[WayResult]:
    """Run a recipe from nothing once for each way, every time in a new Python.

    Raises:
        SamebitsError: one of them failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    size = sum(path.stat().st_size for path in (recipe.parent / "world").rglob("*") if path.is_file())
    observer(StageStarted(STAGE, len(WAYS), len(WAYS) * size, "bytes", pieces="ways"))
    found = []
    for number, way in enumerate(WAYS):
        started = clock.seconds()
        found.append(_compute(way, recipe, folder / str(number)))
        taken = clock.seconds() - started
        observer(ShardDone(STAGE, number, size, started, taken, way.name, found[-1].digest, resumed=False))
    observer(StageDone(STAGE, sum(result.seconds for result in found)))
    return found


def _compute(way: Way, recipe: Path, output: Path) -> WayResult:
    command = [sys.executable, "-m", "samebits", "pipeline", "run", str(recipe), "-o", str(output), "--json"]
    command += ["-q", "-x", way.executor, "-w", str(way.workers)]
    started = clock.seconds()
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": way.hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SamebitsError(
            f"{way.name}: {done.stderr.strip()}", hint="run 'samebits doctor' and report its output"
        )
    found = json.loads((output / "pipeline.json").read_bytes())
    return WayResult(way, str(found["digest"]), clock.seconds() - started)
