"""Faults of clusters: workers, schedulers and heads killed or stopped, workers with other versions, CPUs or full disks.

The first group disturbs a cluster that the run has started itself, the second one at an address. Each returns how the run
ended, with the number of faults that were injected.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from tests.faults.scene import REPO, Ending, Scene

MOST_KILLS = 10
PATCHES = {  # what a worker runs before anything else
    "version": "import samebits\nsamebits.__version__ = '0.0.9'\n",
    "cpu": "from samebits.core import machine\nmachine.cpu = lambda: ('another CPU', set())\n",
    "disk": (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
    ),
}


def cluster_workers(process: subprocess.Popen[str]) -> list[int]:
    """Return the worker processes below a driver: Dask's are spawned, Ray's have names of their own."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                command = " ".join(child.cmdline())
                if "spawn_main" in command or command.startswith(("ray::_run", "ray::IDLE")):
                    found.append(child.pid)
    return found


def strike(pid: int, number: int) -> int:
    """Send a signal; return 1 if the process was there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return 1
    return 0


def workers_killed(scene: Scene) -> Ending:
    """One random worker a second, ten times: a new one takes longer than that to start."""
    scene.options["retries"] = 6
    process = scene.start(shards=40, pause=0.2, part_bytes=100_000)
    scene.wait_for(lambda: scene.parts_done() >= 1, process)
    faults = 0
    while process.poll() is None and faults < MOST_KILLS:
        if pids := cluster_workers(process):
            faults += strike(int(scene.pick.choice(pids)), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    return replace(scene.end(process), faults=faults)


def all_cluster_workers_killed(scene: Scene) -> Ending:
    """All at once, twice."""
    process, faults = scene.start(shards=30, pause=0.1), 0
    for parts in (1, 10):
        scene.wait_for(lambda wanted=parts: scene.parts_done() >= wanted, process)  # type: ignore[misc]
        faults += sum(strike(pid, signal.SIGKILL) for pid in cluster_workers(process))
    return replace(scene.end(process), faults=faults)


def worker_dies_in_one_shard(scene: Scene) -> Ending:
    """Twice killed with the same shard in hand, then let through."""
    return replace(scene.end(scene.start(fault="kill:5:2")), faults=2)


def shard_that_always_kills(scene: Scene) -> Ending:
    """Retried, concurrency halved once, then named: this shard and no other."""
    scene.options["retries"] = 1
    ending = scene.end(scene.start(fault="kill:5"))
    return replace(ending, faults=4) if "shard 5" in ending.detail else Ending("lost", ending.detail)


def worker_stopped_in_a_shard(scene: Scene) -> Ending:
    """SIGSTOP from within: taken out after the stall timeout, its shard tried again."""
    scene.options["stall_timeout"] = 4.0
    return scene.end(scene.start(fault="stop:5:1"))


def slow_worker(scene: Scene) -> Ending:
    """One shard takes three seconds longer; nobody is blamed."""
    return scene.end(scene.start(fault="slow:5:1"))


def driver_of_a_cluster_killed(scene: Scene) -> Ending:
    """kill -9 of the driver after a few parts; its cluster goes with it, and the same command goes on."""
    process = scene.start(shards=30, pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 4, process)
    strike(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    return scene.again()


@contextmanager
def dask_cluster(scene: Scene, *patches: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a scheduler and a worker for each patch ("" for none); yield the scheduler, with the address in the options."""
    file = scene.folder / "scheduler.json"
    programs = [
        scene.program("distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard",
                      "--scheduler-file", str(file)),
    ]  # fmt: skip
    for number, patch in enumerate(patches):
        folder = scene.folder / f"patch-{number}"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(PATCHES.get(patch, ""))
        programs.append(
            scene.program("distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1",
                          "--no-nanny", "--no-dashboard", "--local-directory", str(folder), path=folder)
        )  # fmt: skip
    scene.options.update(executor="dask", address=_dask_address(file, len(patches)))
    try:
        yield programs[0]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _dask_address(file: Path, workers: int) -> str:
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    address = str(json.loads(file.read_bytes())["address"])
    distributed: Any = import_module("distributed")
    with distributed.Client(address, timeout=30) as client:
        client.wait_for_workers(workers, timeout=60)
    return address


def scheduler_killed(scene: Scene) -> Ending:
    """Named at once; the same command goes on with this machine's own processes."""
    with dask_cluster(scene, "", "") as scheduler:
        process = scene.start(shards=40, pause=0.1)
        scene.wait_for(lambda: scene.parts_done() >= 4, process)
        scheduler.kill()
        return _named_then_again(scene, process)


def _named_then_again(scene: Scene, process: subprocess.Popen[str]) -> Ending:
    first = scene.end(process)
    if not first.detail.startswith("ClusterLost"):
        return Ending("lost", f"expected ClusterLost: {first.detail}")
    if scene.parts_done() < 4:
        return Ending("lost", "finished parts are gone")
    scene.options.update(executor="processes", address="")
    return scene.again()


def _refused(ending: Ending, words: str) -> Ending:
    right = ending.detail.startswith("EnvironmentMismatch") and words in ending.detail
    return ending if right else Ending("lost", ending.detail)


def worker_with_another_version(scene: Scene) -> Ending:
    """Refused before the first shard, naming worker and field."""
    with dask_cluster(scene, "", "version"):
        ending = scene.end(scene.start())
    return _refused(ending, "samebits 0.0.9") if scene.parts_done() == 0 else Ending("lost", "it has begun")


def floating_job_with_another_cpu(scene: Scene) -> Ending:
    """Refused, because equal bits are promised on one CPU type."""
    with dask_cluster(scene, "", "cpu"):
        return _refused(scene.end(scene.start(floating=True)), "cpu another CPU")


def integer_job_with_another_cpu(scene: Scene) -> Ending:
    """Not refused: integers are the same everywhere."""
    with dask_cluster(scene, "", "cpu"):
        return scene.end(scene.start())


def full_disk_on_one_worker(scene: Scene) -> Ending:
    """Its large parts cannot be spooled, so they come over the network."""
    with dask_cluster(scene, "", "disk"):
        return scene.end(scene.start(part_bytes=200_000))


def worker_at_an_address_stopped(scene: Scene) -> Ending:
    """SIGSTOP from within a worker that is not ours: taken out of the scheduler's list."""
    scene.options["stall_timeout"] = 6.0
    with dask_cluster(scene, "", ""):
        return scene.end(scene.start(fault="stop:5:1"))


def head_killed(scene: Scene) -> Ending:
    """The same for Ray: its head is named within seconds, the same command goes on without it."""
    folder, port = scene.short_folder(), 20_000 + int(scene.pick.integers(10_000))
    scene.environment.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    head = subprocess.Popen(
        [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", f"--port={port}", "--num-cpus=2",
         "--include-dashboard=false", f"--temp-dir={folder}", "--object-store-memory=80000000",
         "--disable-usage-stats"],
        cwd=REPO, env=scene.variables(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        time.sleep(8)  # Ray says nothing that a program could wait for
        scene.options.update(executor="ray", address=f"127.0.0.1:{port}")
        process = scene.start(shards=60, pause=0.1)
        scene.wait_for(lambda: scene.parts_done() >= 4, process)
        _kill_tree(head)
        return _named_then_again(scene, process)
    finally:
        _kill_tree(head)


def _kill_tree(head: subprocess.Popen[bytes]) -> None:
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(head.pid).children(recursive=True)
        for process in [*family, psutil.Process(head.pid)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    head.wait()
