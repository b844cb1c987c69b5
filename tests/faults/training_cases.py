"""Faults of training: a worker killed or stopped, the driver killed, a full disk, a checkpoint cut short.

The jobs are ``lm`` and ``graph_train`` of ``tests/small_jobs.py`` with more steps; their workers are those of lockstep.
"""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from tests.faults.disks import small_disk
from tests.faults.scene import Ending, Scene, strike

from samebits.data.journal import checkpoint_folder, journal_folder
from samebits.lockstep.parent.checkpoints import DATA, steps_in

__all__ = [
    "LONGER",
    "checkpoint_cut_short",
    "checkpoints_of",
    "disk_full_in_training",
    "driver_killed_in_training",
    "training_worker_stopped",
    "training_workers_killed",
    "wait_for_steps",
]

MOST_KILLS = 8
LONGER: dict[str, dict[str, Any]] = {  # a few seconds of steps, a checkpoint every few
    "graph_train": {"steps": 80, "save_every": 5, "shards": 4},
    "lm": {"steps": 120, "validate_every": 60, "save_every": 5},
}


def _start(scene: Scene) -> subprocess.Popen[str]:
    scene.settings = LONGER[scene.job]
    return scene.start()


def checkpoints_of(scene: Scene) -> Path:
    """Return where a run that trains keeps its checkpoints."""
    return checkpoint_folder(journal_folder(scene.output))


def _crew(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes of a driver that trains."""
    with suppress(psutil.Error):
        children = psutil.Process(process.pid).children()
        return [child.pid for child in children if "lockstep.worker" in " ".join(child.cmdline())]
    return []


def wait_for_steps(scene: Scene, process: subprocess.Popen[str], number: int, after: int = -1) -> None:
    """Wait for so many checkpoints of later steps."""

    def found() -> bool:
        steps = [step for step in steps_in(checkpoints_of(scene)) if step > after]
        return len(steps) >= number

    scene.wait_for(found, process)


def training_workers_killed(scene: Scene) -> Ending:
    """A random worker, eight times, each after a new checkpoint: started again from there."""
    scene.options["retries"] = 2 * MOST_KILLS
    process, faults, last = _start(scene), 0, -1
    for _ in range(MOST_KILLS):
        wait_for_steps(scene, process, 1, after=last)
        last = max(steps_in(checkpoints_of(scene)), default=last)
        if pids := _crew(process):
            faults += strike(int(scene.pick.choice(pids)), signal.SIGKILL)
    return replace(scene.end(process), faults=faults)


def training_worker_stopped(scene: Scene) -> Ending:
    """SIGSTOP: killed after the stall timeout, and all start again from the checkpoint."""
    scene.options["stall_timeout"] = 10.0  # on a busy machine torch takes seconds to load
    process = _start(scene)
    wait_for_steps(scene, process, 1)
    pids = _crew(process)
    faults = strike(int(scene.pick.choice(pids)), signal.SIGSTOP) if pids else 0
    return replace(scene.end(process), faults=faults)


def _kill_driver(scene: Scene, checkpoints: int) -> tuple[int, list[str]]:
    process = _start(scene)
    wait_for_steps(scene, process, checkpoints)
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    return faults, scene.orphans()


def driver_killed_in_training(scene: Scene) -> Ending:
    """kill -9 of the driver: its workers go by themselves, and the same command goes on with another number of them."""
    faults, left = _kill_driver(scene, int(scene.pick.integers(1, 3)))
    if left:
        return Ending("lost", f"left behind: {', '.join(left)}")
    scene.options["workers"] = "3"
    return replace(scene.again(), faults=faults)


def checkpoint_cut_short(scene: Scene) -> Ending:
    """Driver killed, then half of the newest checkpoint lost: passed over for the one before."""
    faults, left = _kill_driver(scene, 2)
    steps = steps_in(checkpoints_of(scene))
    if left or len(steps) < 2:
        return Ending("lost", f"left behind: {left}; checkpoints: {steps}")
    newest = checkpoints_of(scene) / f"step-{steps[0]:09d}" / DATA
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    return replace(scene.again(), faults=faults + 1)


def disk_full_in_training(scene: Scene) -> Ending:
    """The first checkpoints do not fit; then space is freed, and the same command goes on."""
    with small_disk(scene.folder / "disk", "100k") as disk:
        scene.output = disk.path / "out"
        first = scene.end(_start(scene))
        if not first.detail.startswith("OutputFailed"):
            return Ending("lost", f"expected OutputFailed: {first.detail}")
        disk.grow("64m")
        return scene.again()
