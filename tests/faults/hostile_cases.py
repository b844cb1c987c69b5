"""Hostile surroundings: few descriptors, little memory, signals all the time, a clock that jumps, drivers killed again and again.

What cannot go on ends in a named error, and the same command goes on where the surroundings have become friendly.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from dataclasses import replace

from tests.faults.scene import Ending, Scene, strike

__all__ = [
    "clock_jumps",
    "driver_killed_again_and_again",
    "few_descriptors",
    "little_memory",
    "pipeline_killed_again_and_again",
    "served_run_killed",
    "signals_all_the_time",
]

MOST_DRIVER_KILLS = 40
PIPELINE_KILLS = 10
DRIVER = "sys.argv = sys.argv[2:]; runpy.run_module('tests.faults.driver', run_name='__main__')"
FEW_DESCRIPTORS = (
    "import resource, runpy, sys; _, hard = resource.getrlimit(resource.RLIMIT_NOFILE);"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (9, hard));"
)
LITTLE_MEMORY = (
    "import numpy, resource, runpy, sys; import tests.faults.driver;"
    "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
    "resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20), resource.RLIM_INFINITY));"
)
SIGNALS = (
    "import atexit, runpy, signal, sys; signal.signal(signal.SIGALRM, lambda *_: None);"
    "signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003); atexit.register(signal.setitimer, signal.ITIMER_REAL, 0);"
)
CLOCK = (
    "import itertools, runpy, sys, time; real, ticks = time.time, itertools.count();"
    "time.time = lambda: real() + 86_400 * (-1) ** next(ticks);"
)


def few_descriptors(scene: Scene) -> Ending:
    """``ulimit -n 9``: a named error, then the same command."""
    return _starved(scene, FEW_DESCRIPTORS)


def little_memory(scene: Scene) -> Ending:
    """8 MB more than the program itself, then the same command: parts of 30 MB do not fit."""
    scene.config["part_bytes"] = 30_000_000
    scene.config["shards"] = 3
    return _starved(scene, LITTLE_MEMORY)


def _starved(scene: Scene, surroundings: str) -> Ending:
    first = scene.end(scene.start(python=("-c", surroundings + DRIVER)))
    return scene.again() if first.verdict == "named" else Ending("lost", f"expected an error: {first.detail}")


def signals_all_the_time(scene: Scene) -> Ending:
    """A signal every 3 ms interrupts every call of the operating system that can be interrupted."""
    return scene.end(scene.start(python=("-c", SIGNALS + DRIVER), pause=0.02, part_bytes=100_000))


def clock_jumps(scene: Scene) -> Ending:
    """Every look at the clock is a day before or after the one before."""
    return scene.end(scene.start(python=("-c", CLOCK + DRIVER), pause=0.02))


def driver_killed_again_and_again(scene: Scene) -> Ending:
    """kill -9 of the driver whenever it has kept a part: every run goes on where the one before was, none is lost."""
    scene.config["shards"] = 2 * MOST_DRIVER_KILLS
    faults = kept = 0
    while faults < MOST_DRIVER_KILLS:
        process = scene.start(pause=0.05)
        scene.wait_for(lambda kept=kept: scene.parts_done() > kept, process)  # type: ignore[misc]
        if not strike(process.pid, signal.SIGKILL):
            return replace(scene.end(process), faults=faults)
        process.communicate()
        faults += 1
        if scene.parts_done() <= kept:
            return Ending("lost", f"{scene.parts_done()} parts after kill {faults}, {kept} before")
        kept = scene.parts_done()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    return replace(scene.again(), faults=faults)


def pipeline_killed_again_and_again(scene: Scene) -> Ending:
    """kill -9 of a pipeline at random moments; the same command does only what is left."""
    scene.job, faults = "pipeline", 0
    for _ in range(PIPELINE_KILLS):
        process = scene.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(float(scene.pick.uniform(0.3, 1.5)))
        faults += strike(process.pid, signal.SIGKILL)
        process.communicate()
    return replace(scene.again(), faults=faults)


def served_run_killed(scene: Scene) -> Ending:
    """A run is killed under a page that shows it, then the page under the run that goes on: neither minds the other."""
    words = [sys.executable, "-m", "samebits", "serve", str(scene.folder), "--no-open", "--port", "0"]
    server = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=scene.variables()
    )
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    process = scene.start(pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 3, process)
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    with urllib.request.urlopen(f"{url.rstrip('/')}/api/v1/runs", timeout=30) as answer:
        shown = json.load(answer)
    process = scene.start(pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 6, process)
    faults += strike(server.pid, signal.SIGKILL)
    server.communicate()
    ending = replace(scene.end(process), faults=faults)
    return ending if shown else Ending("lost", "the page shows no run")
