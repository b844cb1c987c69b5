"""Faults of folds on workers: one that holds parts dies, one that folds dies, the driver dies in the middle of a fold.

The jobs are real ones whose parts stay with the workers; ``langid`` takes that way as if its input were large.
"""

from __future__ import annotations

import json
import signal
from dataclasses import replace

from tests.faults.scene import Ending, Scene, strike

__all__ = ["FOLDING_JOBS", "driver_killed_in_a_fold", "holder_of_parts_dies", "reducer_dies"]

PAUSE = 0.5  # seconds per shard: the reducers of a busy machine must not be done before the driver is killed
# of each job a stage whose workers hold parts of the one before or of shards before, and the one that folds
STAGES = {"count": ("count", "count reduce"), "langid": ("suspects 1", "count reduce 1")}
FOLDING_JOBS = tuple(STAGES)


def holder_of_parts_dies(scene: Scene) -> Ending:
    """kill -9 of a worker by its last shard of a stage: what it has kept before stays, and is not made again."""
    return _dies_in(scene, STAGES[scene.job][0])


def reducer_dies(scene: Scene) -> Ending:
    """kill -9 of a worker with a partition in hand."""
    return _dies_in(scene, STAGES[scene.job][1])


def _dies_in(scene: Scene, stage: str) -> Ending:
    scene.plant = {"large": True, "dies_in": stage}
    ending = replace(scene.end(scene.start()), faults=scene.struck())
    if ending.verdict != "same":
        return ending
    done = _shards_done(scene, stage)
    again = [number for number in set(done) if done.count(number) > 1]
    return Ending("lost", f"made again: {again} of {stage}") if again else ending


def driver_killed_in_a_fold(scene: Scene) -> Ending:
    """kill -9 of the driver when the reducers have begun; the same command goes on there, with what the workers kept."""
    scene.plant, scene.pause = {"large": True}, PAUSE
    first, reducing = STAGES[scene.job]
    process = scene.start()
    log = scene.output.with_name("out.journal") / "events.jsonl"
    scene.wait_for(
        lambda: log.exists() and f'"StageStarted","stage":"{reducing}"' in log.read_text(), process
    )
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    if scene.output.exists():
        return Ending("lost", "the run was over before its driver was killed", faults=0)
    ending = scene.again()
    stages = json.loads((scene.output / "record.json").read_bytes())["stages"]
    resumed = stages["encode" if scene.job == "langid" else first]["shards_resumed"]
    return replace(ending, faults=faults) if resumed else Ending("lost", "kept parts were not used")


def _shards_done(scene: Scene, stage: str) -> list[int]:
    events = map(json.loads, (scene.output / "events.jsonl").read_bytes().splitlines())
    return [event["index"] for event in events if event["event"] == "ShardDone" and event["stage"] == stage]
