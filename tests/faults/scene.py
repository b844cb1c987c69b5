"""A scene: one run of a job in a process of its own, the means to disturb it, and the verdict on how it ended.

Every ending is one of four. ``same``: the digest of the undisturbed serial run. ``named``: an error of ours with its
hint. ``hung``: no end within the limit. ``lost``: anything else, such as another digest, a traceback, a process, a
temporary file or a semaphore left behind.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil
from tests.faults.crash_points import maker_of
from tests.faults.slow_job import JOB, SlowConfig
from tests.netns import Host
from tests.small_jobs import reference_of

from samebits import errors
from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for

if TYPE_CHECKING:
    from tests.faults.clusters import Cluster

__all__ = ["HUNG_SECONDS", "REPO", "Ending", "Scene", "open_scene", "play", "strike"]

REPO = Path(__file__).resolve().parent.parent.parent
HUNG_SECONDS = 120.0  # every case takes seconds; this is for a machine that is very busy
GONE_SECONDS = 10.0  # a worker looks for its driver once a second
RAY_GONE_SECONDS = 90.0  # a worker of Ray that was just starting looks for its node: 26 and 60 s seen
NAMES = tuple(f"{name}: " for name in errors.__all__ if name[0].isupper())
Verdict = Literal["same", "named", "hung", "lost"]


@dataclass(frozen=True)
class Ending:
    """How a run ended, with the words for a table."""

    verdict: Verdict
    detail: str
    faults: int = 1  # how many were injected


def strike(pid: int, number: int) -> int:
    """Send a signal to a process; return 1 if it was alive, so that it counts as a fault."""
    try:
        alive = psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        os.kill(pid, number)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return 0
    return int(alive)


@lru_cache
def shared_inputs() -> Path:
    """Return the folder of inputs and undisturbed runs of real jobs, for all scenes of this process."""
    folder = tempfile.mkdtemp(prefix="scene-inputs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


_making = threading.Lock()  # scenes may be played side by side


def undisturbed_job(name: str, settings: dict[str, Any]) -> str:
    """Return the digest of the serial run of a real job, or of a pipeline."""
    with _making:
        if name == "pipeline":
            return maker_of(name, shared_inputs())(shared_inputs() / "reference-pipeline")
        made = reference_of(name, shared_inputs(), **settings)
    return str(json.loads((made / "record.json").read_bytes())["artifact_digest"])


@lru_cache
def undisturbed(shards: int, part_bytes: int) -> str:
    """Return the digest of the serial run."""
    with tempfile.TemporaryDirectory() as folder:
        config = SlowConfig(shards=shards, part_bytes=part_bytes)
        return run(
            JOB, config, output=Path(folder) / "out", options=RunOptions(executor="serial")
        ).artifact_digest


class Scene:
    """One place for one case.

    Attributes:
        folder: Everything happens in here, temporary files too.
        pick: Random choices of this try.
        job: Name of a real job, or empty for the slow one.
        settings: What differs from the table's config of that job.
        pause: Seconds that each shard of a real job sleeps, unless it is run again.
        plant: What the driver of a real job is to do besides: see ``tests.faults.driver``.
        cluster: One at an address that its runs use; None where a run starts its own.
    """

    def __init__(self, folder: Path, seed: int, job: str = "") -> None:
        self.job = job
        self.settings: dict[str, Any] = {}
        self.pause = 0.0
        self.plant: dict[str, Any] = {}
        self.folder = folder
        self.output = folder / "out"
        self.pick = rng_for(seed, "chaos")
        self.config: dict[str, Any] = {"shards": 24, "part_bytes": 100, "marks": str(folder / "marks")}
        self.options: dict[str, Any] = {"executor": "processes", "workers": "2"}
        self.pids: list[int] = []
        self.environment: dict[str, str] = {}
        self.short: list[str] = []
        self.cluster: Cluster | None = None
        for name in ("tmp", "marks"):
            (folder / name).mkdir()

    def variables(self, path: Path | None = None) -> dict[str, str]:
        """Return the environment of everything that is started here; ``path`` comes first on the import path."""
        paths = {"PYTHONPATH": os.pathsep.join([str(path), str(REPO)])} if path else {}
        own = {"TMPDIR": str(self.folder / "tmp"), "SAMEBITS_SCENE": str(self.folder)}
        return {**os.environ, **own, **paths, **self.environment}

    def program(
        self, module: str, *arguments: str, path: Path | None = None, host: Host | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a part of a cluster, here or on a host; its temporary files are its own affair."""
        own = self.folder / "cluster"
        own.mkdir(exist_ok=True)
        words = (sys.executable, "-m", module, *arguments)
        return subprocess.Popen(
            host.command(*words) if host else words,
            cwd=REPO,
            env={**self.variables(path or REPO), "TMPDIR": str(own)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def short_folder(self) -> str:
        """Make a folder in which sockets may have long names; removed with the scene."""
        self.short.append(tempfile.mkdtemp(prefix="sr-", dir="/tmp"))
        return self.short[-1]

    def start(
        self,
        *,
        python: tuple[str, ...] = (),
        floating: bool = False,
        host: Host | None = None,
        **config: Any,
    ) -> subprocess.Popen[str]:
        """Start the driver in a process group of its own, here or on a host."""
        self.config.update(config)
        given = {"job": self.job, "options": self.options, "config": self.config, "floating": floating}
        if self.job:
            undisturbed_job(self.job, self.settings)  # its inputs are there before anybody reads them
            pause = self.pause if config.get("pause", self.pause) else 0.0
            given |= {"inputs": str(shared_inputs()), "settings": self.settings, "pause": pause}
            given |= {"marks": self.config["marks"], **self.plant}
        words = (sys.executable, *python, "-m", "tests.faults.driver", str(self.output), json.dumps(given))
        process = subprocess.Popen(
            host.command(*words) if host else words,
            cwd=REPO,
            env=self.variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pids.append(process.pid)
        return process

    def workers(self, process: subprocess.Popen[str]) -> list[int]:
        """Return the worker processes that sit at the board, which is when they can have a shard in hand."""
        boards = list((self.folder / "tmp").glob("samebits-*/board/*"))
        return [int(path.name) for path in boards if process.poll() is None]

    def wait_for(self, what: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
        """Wait until something is there or the process has ended."""
        until = time.monotonic() + HUNG_SECONDS
        while time.monotonic() < until and process.poll() is None:
            if found := what():
                return found
            time.sleep(0.02)
        return what()

    def wait_for_workers(self, process: subprocess.Popen[str], number: int = 2) -> list[int]:
        """Wait until so many workers sit at the board."""
        self.wait_for(lambda: len(self.workers(process)) >= number, process)
        return self.workers(process)

    def parts_done(self) -> int:
        """Return how many parts are in the journal."""
        log = self.output.with_name("out.journal") / "log.jsonl"
        return len(log.read_bytes().splitlines()) if log.exists() else 0

    def end(self, process: subprocess.Popen[str], seconds: float = HUNG_SECONDS) -> Ending:
        """Wait for the end and judge it."""
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Ending("hung", f"no end after {seconds:.0f} s")
        if process.returncode == 0:
            same = stdout == self.undisturbed()
            return Ending("same", stdout[:16]) if same else Ending("lost", f"another digest: {stdout[:16]}")
        lines = [line for line in stderr.splitlines() if line.startswith(NAMES)]
        if lines and "\nhint: " in stderr and "Traceback" not in stderr:
            return Ending("named", lines[-1])
        return Ending("lost", f"exit {process.returncode}: {stderr[-300:]}")

    def undisturbed(self) -> str:
        """Return the digest that this run must end with."""
        if self.job:
            return undisturbed_job(self.job, self.settings)
        return undisturbed(self.config["shards"], self.config["part_bytes"])

    def struck(self) -> int:
        """Return how often a planted fault has struck, by the marks it left before."""
        return sum(path.stat().st_size for path in (self.folder / "marks").iterdir())

    def in_hand(self) -> bool:
        """Tell whether a worker of a cluster has had a shard in hand."""
        return any((self.output.with_name("out.journal") / "spool").glob("hand-*"))

    def num_workers_seen(self) -> int:
        """Return how many workers have finished shards of a run that has ended."""
        events = map(json.loads, (self.output / "events.jsonl").read_bytes().splitlines())
        return len({event["worker"] for event in events if event["event"] == "ShardDone"} - {"journal"})

    def again(self, **config: Any) -> Ending:
        """Give the same command once more, with nothing in its way."""
        return self.end(self.start(**{"pause": 0.0, "fault": "", **config}))

    def leftovers(self) -> list[str]:
        """Name what a run must not leave behind."""
        until = time.monotonic() + self._patience()
        while (found := [*self._processes(), *self._files()]) and time.monotonic() < until:
            time.sleep(0.1)
        return found

    def orphans(self) -> list[str]:
        """Name the processes that did not leave with their driver."""
        until = time.monotonic() + self._patience()
        while (found := list(self._processes())) and time.monotonic() < until:
            time.sleep(0.1)
        return found

    def _patience(self) -> float:
        return RAY_GONE_SECONDS if self.options["executor"] == "ray" else GONE_SECONDS

    def _processes(self) -> Iterator[str]:
        mark = str(self.folder)
        for process in psutil.process_iter():
            try:
                if process.environ().get("SAMEBITS_SCENE") == mark and process.status() != "zombie":
                    yield f"process {process.pid}"
            except psutil.Error:
                continue

    def _files(self) -> Iterator[str]:
        yield from (f"temporary {path.name}" for path in (self.folder / "tmp").iterdir())
        for pid in self.pids:
            yield from (f"semaphore {path.name}" for path in Path("/dev/shm").glob(f"sem.loky-{pid}-*"))

    def kill_workers_left(self) -> None:
        """End what a failed case left running, so that it disturbs no other."""
        for process in psutil.process_iter():
            try:
                if process.environ().get("SAMEBITS_SCENE") == str(self.folder):
                    process.kill()
            except psutil.Error:
                continue


@contextmanager
def open_scene(seed: int, job: str = "") -> Iterator[Scene]:
    """Make a place for one try, and leave nothing of it behind."""
    with tempfile.TemporaryDirectory(prefix="scene-") as folder:
        scene = Scene(Path(folder), seed, job)
        try:
            yield scene
        finally:
            scene.kill_workers_left()
            for path in scene.short:
                shutil.rmtree(path, ignore_errors=True)


def play(
    case: Callable[[Scene], Ending],
    seed: int,
    executor: str = "processes",
    job: str = "",
    cluster: Cluster | None = None,
) -> Ending:
    """Play one case once; what it leaves behind counts as lost."""
    with open_scene(seed, job) as scene:
        scene.options["executor"] = executor
        if cluster is not None:
            cluster.join(scene)
        ending = case(scene)
        left = scene.leftovers()
        return Ending("lost", f"left behind: {', '.join(left)} after {ending.detail}") if left else ending
