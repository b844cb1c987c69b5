"""Faults of real jobs: random workers killed every second, drivers killed and started again, on every executor.

The jobs are those of ``tests/small_jobs.py``. Their tasks are the real ones; each shard sleeps first, so that a run of small
inputs lasts long enough to be hit.
"""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from dataclasses import replace

from tests.faults.clusters import cluster_workers
from tests.faults.scene import Ending, Scene, strike

__all__ = ["PAUSES", "driver_killed_in_a_job", "workers_killed"]

MOST_KILLS = 15
PAUSES = {  # seconds a shard, so that a run takes about five with two workers
    "charset": 1.2,
    "charset_decode": 1.2,
    "count": 0.3,
    "graph": 0.9,
    "graph_eval": 1.5,
    "graph_generate": 1.5,
    "graph_knn": 1.2,
    "langid": 0.8,
    "langid_clean": 1.5,
    "tokens": 0.3,
    "tokens_convert": 0.6,
    "tokens_train": 0.3,
}


def workers_killed(scene: Scene) -> Ending:
    """One random worker a second, fifteen times; a new one may take longer than that to start."""
    scene.options["retries"] = 30  # kills may hit one shard again and again
    scene.pause = PAUSES.get(scene.job, 0.0)
    process = scene.start(shards=40, pause=0.25 if not scene.job else scene.pause, part_bytes=100_000)
    scene.wait_for(lambda: _busy_workers(scene, process), process)
    faults = 0
    while process.poll() is None and faults < MOST_KILLS:
        if pids := _busy_workers(scene, process):
            faults += strike(int(scene.pick.choice(pids)), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    return replace(scene.end(process), faults=faults)


def _busy_workers(scene: Scene, process: subprocess.Popen[str]) -> list[int]:
    """Return the workers of a run that has begun."""
    if process.poll() is not None:
        return []
    if scene.options["executor"] == "processes":
        return scene.workers(process)
    if not scene.in_hand():
        return []
    return scene.cluster.workers() if scene.cluster is not None else cluster_workers(process.pid)


def driver_killed_in_a_job(scene: Scene) -> Ending:
    """kill -9 of the driver after some parts, then the same command: no part is computed twice without need."""
    scene.pause = PAUSES[scene.job]
    scene.options["workers"] = "1"  # two could end with their last parts at the same moment
    process = scene.start()
    scene.wait_for(lambda: scene.parts_done() >= 1, process)
    with suppress(subprocess.TimeoutExpired):  # not as long as the next shard takes: it must not be done
        process.wait(float(scene.pick.uniform(0.0, 0.8)) * scene.pause)
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    kept = scene.parts_done()
    scene.options["workers"] = "2"
    ending = scene.again()
    return replace(ending, faults=faults) if kept else Ending("lost", "finished parts are gone")
