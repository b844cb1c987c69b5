"""Faults of one machine: each case disturbs a run of the slow job in one way and returns how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace

from tests.faults.disks import small_disk
from tests.faults.scene import Ending, Scene, strike


def all_workers_killed(scene: Scene) -> Ending:
    """All at once, twice."""
    process, faults = scene.start(pause=0.1, part_bytes=200_000), 0
    for _ in range(2):
        faults += sum(strike(pid, signal.SIGKILL) for pid in scene.wait_for_workers(process))
        time.sleep(1)
    return replace(scene.end(process), faults=faults)


def worker_dies_in_one_shard(scene: Scene) -> Ending:
    """Twice killed, then let through."""
    return replace(scene.end(scene.start(fault="kill:5:2")), faults=scene.struck())


def shard_that_always_kills(scene: Scene) -> Ending:
    """Retried, concurrency halved once, then named."""
    scene.options["retries"] = 1
    return replace(scene.end(scene.start(fault="kill:5")), faults=scene.struck())


def memory_limit_once(scene: Scene) -> Ending:
    """RLIMIT_AS strikes twice, then there is room."""
    return replace(scene.end(scene.start(fault="limit:5:2")), faults=scene.struck())


def memory_limit_always(scene: Scene) -> Ending:
    """RLIMIT_AS strikes every time."""
    return replace(scene.end(scene.start(fault="limit:5")), faults=scene.struck())


def worker_stopped(scene: Scene) -> Ending:
    """SIGSTOP from within, once: killed after the stall timeout, its shard tried again."""
    scene.options["stall_timeout"] = 2.0
    return replace(scene.end(scene.start(fault="stop:5:1")), faults=scene.struck())


def worker_stopped_always(scene: Scene) -> Ending:
    """SIGSTOP every time: the error names the shard."""
    scene.options.update(stall_timeout=2.0, retries=0, workers="1")
    return replace(scene.end(scene.start(fault="stop:5")), faults=scene.struck())


def any_worker_stopped(scene: Scene) -> Ending:
    """SIGSTOP from outside, whatever the worker is doing."""
    scene.options["stall_timeout"] = 2.0
    process = scene.start(pause=0.05)
    faults = strike(int(scene.pick.choice(scene.wait_for_workers(process))), signal.SIGSTOP)
    return replace(scene.end(process), faults=faults)


def driver_killed(scene: Scene) -> Ending:
    """kill -9 of the driver at a random moment, then the same command; the workers must go by themselves."""
    process = scene.start(shards=60, pause=0.1, part_bytes=100_000)
    with suppress(subprocess.TimeoutExpired):
        process.wait(float(scene.pick.uniform(0.1, 3.0)))
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    ending = scene.again()
    if ending.detail.startswith("OutputExists"):  # it was faster than the kill
        scene.output.rename(scene.folder / "first")
        ending = scene.again()
    return replace(ending, faults=faults)


def driver_and_workers_killed(scene: Scene) -> Ending:
    """All at once, after a few parts: nobody is left to remove the temporary folder, so the next run must."""
    process = scene.start(shards=40, pause=0.05)
    scene.wait_for(lambda: scene.parts_done() >= 5, process)
    faults = sum(strike(pid, signal.SIGKILL) for pid in [process.pid, *scene.workers(process)])
    process.communicate()
    return replace(scene.again(), faults=faults)


def torn_journal(scene: Scene) -> Ending:
    """Driver killed, then the last line cut, a byte flipped in a part and garbage appended."""
    process = scene.start(shards=40, pause=0.05, part_bytes=1000)
    scene.wait_for(lambda: scene.parts_done() >= 8, process)
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    journal = scene.output.with_name("out.journal")
    log, parts = journal / "log.jsonl", journal / "parts.bin"
    log.write_bytes(b"garbage\n" + log.read_bytes()[:-3])
    data = bytearray(parts.read_bytes())
    data[int(scene.pick.integers(len(data)))] ^= 1
    parts.write_bytes(data)
    return replace(scene.again(), faults=faults + 3)


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


def _on_small_disk(scene: Scene, size: str) -> Ending:
    with small_disk(scene.folder / "disk", size) as disk:
        scene.output = disk.path / "out"
        first = scene.end(scene.start(part_bytes=100_000))
        if not first.detail.startswith("OutputFailed"):
            return Ending("lost", f"expected OutputFailed: {first.detail}")
        if left := [path.name for path in disk.path.iterdir() if path.name != "out.journal"]:
            return Ending("lost", f"on the full disk: {left}")
        disk.grow("64m")
        return scene.again()


def disk_full_in_journal(scene: Scene) -> Ending:
    """2.4 MB of parts on a disk of 1 MB; then space is freed."""
    return _on_small_disk(scene, "1m")


def disk_full_in_output(scene: Scene) -> Ending:
    """The journal fits, the output does not; then space is freed."""
    return _on_small_disk(scene, "4m")


def temporary_disk_full(scene: Scene) -> Ending:
    """The workers' temporary folder is full."""
    scene.options["workers"] = "1"
    with small_disk(scene.folder / "tmp", "64k"):
        return scene.end(scene.start(part_bytes=200_000))


def file_size_limit(scene: Scene) -> Ending:
    """``ulimit -f``: writing fails as on a full disk, without a mount."""
    limit = "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY));"
    limit += "sys.argv = sys.argv[2:]; runpy.run_module('tests.faults.driver', run_name='__main__')"
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
    first = scene.start(pause=0.5)
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
