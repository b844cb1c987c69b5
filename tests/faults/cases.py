"""The fault table: each case disturbs a run in one way and returns how it ended. Played by pytest and by ``make chaos``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults import cluster_cases as clusters
from tests.faults.scene import Ending, Scene

__all__ = ["CASES", "Case", "can_mount"]


def kill(pid: int, number: int) -> None:
    """Send a signal; the process may be gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def worker_killed_every_second(scene: Scene) -> Ending:
    """One random worker a second, until the run is done; parts are larger than a pipe's buffer."""
    process = scene.start(shards=30, pause=0.1, part_bytes=200_000)
    while process.poll() is None:
        if workers := scene.workers(process):
            kill(int(scene.pick.choice(workers)), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    return scene.end(process)


def all_workers_killed(scene: Scene) -> Ending:
    """All at once, twice."""
    process = scene.start(pause=0.1, part_bytes=200_000)
    for _ in range(2):
        for pid in scene.wait_for_workers(process):
            kill(pid, signal.SIGKILL)
        time.sleep(1)
    return scene.end(process)


def worker_dies_in_one_shard(scene: Scene) -> Ending:
    """Twice killed, then let through."""
    return scene.end(scene.start(fault="kill:5:2"))


def shard_that_always_kills(scene: Scene) -> Ending:
    """Retried, concurrency halved once, then named."""
    scene.options["retries"] = 1
    return scene.end(scene.start(fault="kill:5"))


def memory_limit_once(scene: Scene) -> Ending:
    """RLIMIT_AS strikes twice, then there is room."""
    return scene.end(scene.start(fault="limit:5:2"))


def memory_limit_always(scene: Scene) -> Ending:
    """RLIMIT_AS strikes every time."""
    return scene.end(scene.start(fault="limit:5"))


def worker_stopped(scene: Scene) -> Ending:
    """SIGSTOP from within, once: killed after the stall timeout, its shard tried again."""
    scene.options["stall_timeout"] = 2.0
    return scene.end(scene.start(fault="stop:5:1"))


def worker_stopped_always(scene: Scene) -> Ending:
    """SIGSTOP every time: the error names the shard."""
    scene.options.update(stall_timeout=2.0, retries=0, workers="1")
    return scene.end(scene.start(fault="stop:5"))


def any_worker_stopped(scene: Scene) -> Ending:
    """SIGSTOP from outside, whatever the worker is doing."""
    scene.options["stall_timeout"] = 2.0
    process = scene.start(pause=0.05)
    kill(int(scene.pick.choice(scene.wait_for_workers(process))), signal.SIGSTOP)
    return scene.end(process)


def driver_killed(scene: Scene) -> Ending:
    """kill -9 of the driver at a random moment, then the same command; the workers must go by themselves."""
    process = scene.start(shards=40, pause=0.05, part_bytes=100_000)
    with suppress(subprocess.TimeoutExpired):
        process.wait(float(scene.pick.uniform(0.1, 4.0)))
    kill(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    ending = scene.again()
    if ending.detail.startswith("OutputExists"):  # it was faster than the kill
        scene.output.rename(scene.folder / "first")
        ending = scene.again()
    return ending


def driver_and_workers_killed(scene: Scene) -> Ending:
    """All at once, after a few parts: nobody is left to remove the temporary folder, so the next run must."""
    process = scene.start(shards=40, pause=0.05)
    scene.wait_for(lambda: scene.parts_done() >= 5, process)
    for pid in [process.pid, *scene.workers(process)]:
        kill(pid, signal.SIGKILL)
    process.communicate()
    return scene.again()


def torn_journal(scene: Scene) -> Ending:
    """Driver killed, then the last line cut, a byte flipped in a part and garbage appended."""
    process = scene.start(shards=40, pause=0.05, part_bytes=1000)
    scene.wait_for(lambda: scene.parts_done() >= 8, process)
    kill(process.pid, signal.SIGKILL)
    process.communicate()
    journal = scene.output.with_name("out.journal")
    log, parts = journal / "log.jsonl", journal / "parts.bin"
    log.write_bytes(b"garbage\n" + log.read_bytes()[:-3])
    data = bytearray(parts.read_bytes())
    data[int(scene.pick.integers(len(data)))] ^= 1
    parts.write_bytes(data)
    return scene.again()


def interrupted(scene: Scene) -> Ending:
    """Ctrl-C: exit 130 with a hint, then the same command goes on from where it was."""
    process = scene.start(shards=40, pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 3, process)
    os.killpg(process.pid, signal.SIGINT)
    first = scene.end(process)
    if first.verdict != "named" or process.returncode != 130:
        return Ending("lost", f"exit {process.returncode}: {first.detail}")
    return scene.again() if scene.parts_done() >= 3 else Ending("lost", "finished parts are gone")


def interrupted_while_starting(scene: Scene) -> Ending:
    """Ctrl-C before the workers are up: no traceback from any of them."""
    process = scene.start(pause=0.1)
    scene.wait_for(lambda: list((scene.folder / "tmp").glob("samebits-*")), process)
    time.sleep(float(scene.pick.uniform(0.0, 0.6)))
    os.killpg(process.pid, signal.SIGINT)
    first = scene.end(process)
    return scene.again() if first.verdict == "named" else first


def interrupted_twice(scene: Scene) -> Ending:
    """The second Ctrl-C ends at once, though a shard would take another minute."""
    scene.options["executor"] = "threads"
    process = scene.start(pause=60.0)
    scene.wait_for(lambda: (scene.output.with_name("out.journal") / "events.jsonl").exists(), process)
    time.sleep(0.5)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3)
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=30)
    if process.returncode != 130:
        os.killpg(process.pid, signal.SIGKILL)
        return Ending("hung", f"exit {process.returncode}")
    return scene.again()


def can_mount() -> bool:
    """Tell whether a small disk can be made here: it takes root, and a container may forbid it all the same."""
    if os.geteuid() != 0:
        return False
    probe = Path("/tmp/samebits-mount-probe")
    probe.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(probe)], check=False, capture_output=True
    )
    if done.returncode == 0:
        subprocess.run(["umount", str(probe)], check=True)
    probe.rmdir()
    return done.returncode == 0


def _on_small_disk(scene: Scene, size: str) -> Ending:
    disk = scene.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
    try:
        scene.output = disk / "out"
        first = scene.end(scene.start(part_bytes=100_000))
        if not first.detail.startswith("OutputFailed"):
            return Ending("lost", f"expected OutputFailed: {first.detail}")
        if left := [path.name for path in disk.iterdir() if path.name != "out.journal"]:
            return Ending("lost", f"on the full disk: {left}")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        return scene.again()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def disk_full_in_journal(scene: Scene) -> Ending:
    """2.4 MB of parts on a disk of 1 MB; then space is freed."""
    return _on_small_disk(scene, "1m")


def disk_full_in_output(scene: Scene) -> Ending:
    """The journal fits, the output does not; then space is freed."""
    return _on_small_disk(scene, "4m")


def temporary_disk_full(scene: Scene) -> Ending:
    """The workers' temporary folder is full."""
    scene.options["workers"] = "1"
    disk = scene.folder / "tmp"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        return scene.end(scene.start(part_bytes=200_000))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def file_size_limit(scene: Scene) -> Ending:
    """``ulimit -f``: writing fails as on a full disk, without a mount."""
    limit = "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY));"
    limit += "sys.argv = sys.argv[2:]; runpy.run_module('tests.faults.driver', run_name='__main__')"
    scene.options["executor"] = "threads"
    first = scene.end(scene.start(python=("-c", limit), part_bytes=100_000))
    if not first.detail.startswith("OutputFailed"):
        return Ending("lost", f"expected OutputFailed: {first.detail}")
    return scene.again()


def reader_fails(scene: Scene) -> Ending:
    """InputError with path and offset comes through from a worker as it is."""
    ending = scene.end(scene.start(fault="read:5"))
    right = ending.detail.startswith("InputError: planted.txt, byte 4096")
    return ending if right else Ending("lost", ending.detail)


def task_raises(scene: Scene) -> Ending:
    """ShardFailed names shard 5 whatever came first."""
    ending = scene.end(scene.start(fault="raise:5"))
    return ending if "shard 5" in ending.detail else Ending("lost", ending.detail)


def two_runs_on_one_output(scene: Scene) -> Ending:
    """The second says who holds the lock; the first is not disturbed."""
    first = scene.start(pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 1, first)
    second = scene.end(scene.start())
    if str(first.pid) not in second.detail or not second.detail.startswith("OutputBusy"):
        return Ending("lost", f"second run: {second.detail}")
    return scene.end(first)


def not_deterministic(scene: Scene) -> Ending:
    """Every shard is run twice and compared."""
    scene.options["recheck"] = 1
    ending = scene.end(scene.start(fault="nondeterministic"))
    return ending if "task is not deterministic" in ending.detail else Ending("lost", ending.detail)


def worker_counts(scene: Scene) -> Ending:
    """1, 2, 3, 7 and 64 workers on whatever there is."""
    ending = Ending("lost", "")
    for workers in ("1", "2", "3", "7", "64"):
        scene.options.update(workers=workers, executor="threads" if workers == "64" else "processes")
        scene.output = scene.folder / f"out-{workers}"
        ending = scene.again()
        if ending.verdict != "same":
            return ending
    return ending


@dataclass(frozen=True)
class Case:
    """One line of the table; quick ones run with every test run, ``tries`` is for ``make chaos``."""

    play: Callable[[Scene], Ending]
    tries: int = 1
    quick: bool = False
    wanted: str = "same"
    mounts: bool = False
    executor: str = "processes"
    either: bool = False  # random kills may hit one shard too often: then a named error is right too

    @property
    def name(self) -> str:
        """The function's name as words, and the cluster it is played on."""
        words = self.play.__name__.replace("_", " ")
        return words if self.executor == "processes" else f"{self.executor}: {words}"


CASES = (
    Case(worker_killed_every_second, tries=3, either=True),
    Case(all_workers_killed, tries=3),
    Case(worker_dies_in_one_shard),
    Case(shard_that_always_kills, wanted="named"),
    Case(memory_limit_once, quick=True),
    Case(memory_limit_always, wanted="named"),
    Case(worker_stopped),
    Case(worker_stopped_always, wanted="named"),
    Case(any_worker_stopped, tries=3),
    Case(driver_killed, tries=20, quick=True),
    Case(driver_and_workers_killed, tries=2),
    Case(torn_journal, tries=3, quick=True),
    Case(interrupted, tries=3, quick=True),
    Case(interrupted_while_starting, tries=3),
    Case(interrupted_twice, quick=True),
    Case(disk_full_in_journal, mounts=True),
    Case(disk_full_in_output, quick=True, mounts=True),
    Case(temporary_disk_full, wanted="named", mounts=True),
    Case(file_size_limit, quick=True),
    Case(reader_fails, wanted="named"),
    Case(task_raises, wanted="named"),
    Case(two_runs_on_one_output, quick=True),
    Case(not_deterministic, wanted="named"),
    Case(worker_counts),
    *[
        case
        for name, tries in (("dask", 2), ("ray", 1))
        for case in (
            Case(clusters.workers_killed, tries=tries, executor=name, either=True),
            Case(clusters.all_cluster_workers_killed, tries=tries, executor=name),
            Case(clusters.worker_dies_in_one_shard, tries=tries, executor=name),
            Case(clusters.shard_that_always_kills, executor=name, wanted="named"),
            Case(clusters.worker_stopped_in_a_shard, executor=name),
            Case(clusters.slow_worker, executor=name),
            Case(clusters.driver_of_a_cluster_killed, tries=tries, executor=name),
        )
    ],
    Case(clusters.scheduler_killed, tries=2, executor="dask"),
    Case(clusters.worker_with_another_version, executor="dask", wanted="named"),
    Case(clusters.floating_job_with_another_cpu, executor="dask", wanted="named"),
    Case(clusters.integer_job_with_another_cpu, executor="dask"),
    Case(clusters.full_disk_on_one_worker, executor="dask"),
    Case(clusters.worker_at_an_address_stopped, executor="dask"),
    Case(clusters.head_killed, executor="ray"),
)
