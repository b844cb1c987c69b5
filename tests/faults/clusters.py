"""Clusters that nobody has set up for a run: a Dask scheduler or a Ray head, and workers that may be other than they should.

A worker may run a patch before anything else (another version, another CPU, a full disk) or live on a host of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from tests.faults.scene import REPO, Scene
from tests.netns import Host

__all__ = ["PATCHES", "Cluster", "Node", "cluster_workers", "dask_cluster", "kill_tree", "ray_cluster"]

START_SECONDS = 60
FULL_DISK = (
    "import resource, signal, sys\n"
    "if any(word in ' '.join(sys.orig_argv) for word in ('dask_worker', 'default_worker')):\n"
    "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
)
PATCHES = {  # what a worker runs before anything else
    "version": "import samebits\nsamebits.__version__ = '0.0.9'\n",
    "cpu": "from samebits.machine import environment\nenvironment.cpu = lambda: ('another CPU', set())\n",
    "disk": FULL_DISK,
}
# A node that does not answer for so long is dead; Ray's own limits are made for clusters of thousands.
RAY_LIMITS = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "4",
}
WAIT_FOR_NODES = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level=50)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.2)
"""


@dataclass(frozen=True)
class Node:
    """A worker of a cluster, or a node with one CPU: what is wrong with it, and where it is."""

    patch: str = ""
    host: Host | None = None


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        executor: Its kind.
        address: For ``--address``.
        boss: The scheduler or head.
        programs: Everything that was started, the boss first.
        environment: What a driver needs to be let in.
    """

    executor: str
    address: str
    boss: subprocess.Popen[bytes]
    programs: tuple[subprocess.Popen[bytes], ...]
    environment: dict[str, str] = field(default_factory=dict)

    def workers(self) -> list[int]:
        """Return the processes that may have a shard in hand."""
        return [pid for program in self.programs for pid in cluster_workers(program.pid)]

    def join(self, scene: Scene) -> None:
        """Let the runs of a scene use it, once it is whole."""
        if self.executor == "dask":
            _wait_for_dask(self.address, len(self.programs) - 1)
        scene.options.update(executor=self.executor, address=self.address)
        scene.environment.update(self.environment)
        scene.cluster = self


def cluster_workers(pid: int) -> list[int]:
    """Return the worker processes below a driver or a boss: Dask's are spawned, Ray's bear the name of their task."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                command = " ".join(child.cmdline())
                if "spawn_main" in command or command.startswith("ray::_run"):
                    found.append(child.pid)
    return found


def _patched(scene: Scene, number: int, node: Node) -> Path:
    folder = scene.folder / f"node-{number}"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(PATCHES.get(node.patch, ""))
    return folder


@contextmanager
def dask_cluster(
    scene: Scene, *nodes: Node, nanny: bool = False, boss_host: Host | None = None
) -> Iterator[Cluster]:
    """Start a scheduler and a worker for each node; the scene's runs use it."""
    file = scene.folder / "scheduler.json"
    hosts = [node.host for node in nodes if node.host is not None]
    here = boss_host.there if boss_host else hosts[0].here if hosts else "127.0.0.1"
    programs = [
        scene.program("distributed.cli.dask_scheduler", "--port", "0", "--host", here, "--no-dashboard",
                      "--scheduler-file", str(file), host=boss_host),
    ]  # fmt: skip
    for number, node in enumerate(nodes):
        folder = _patched(scene, number, node)
        programs.append(
            scene.program("distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1",
                          "--host", node.host.there if node.host else here, "--no-dashboard",
                          "--nanny" if nanny else "--no-nanny", "--local-directory", str(folder), path=folder,
                          host=node.host)
        )  # fmt: skip
    try:
        until = time.monotonic() + START_SECONDS
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        address = str(json.loads(file.read_bytes())["address"])
        cluster = Cluster("dask", address, programs[0], tuple(programs))
        cluster.join(scene)
        yield cluster
    finally:
        for program in reversed(programs):
            kill_tree(program)


def _wait_for_dask(address: str, workers: int) -> None:
    distributed: Any = import_module("distributed")
    with distributed.Client(address, timeout=30) as client:
        client.wait_for_workers(workers, timeout=START_SECONDS)


@contextmanager
def ray_cluster(scene: Scene, *nodes: Node, cpus: int = 1) -> Iterator[Cluster]:
    """Start a head and further nodes; the scene's runs use it."""
    folder, port = scene.short_folder(), _free_port()
    here = next((node.host.here for node in nodes if node.host is not None), "127.0.0.1")
    scene.environment.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), **RAY_LIMITS)
    address = f"{here}:{port}"
    head = _ray(scene, None, "--head", f"--port={port}", f"--num-cpus={cpus}", f"--node-ip-address={here}",
                "--include-dashboard=false", f"--temp-dir={folder}", "--disable-usage-stats")  # fmt: skip
    programs = [head]
    try:
        _wait_for_ray(scene, address, 1)
        for number, node in enumerate(nodes):
            there = node.host.there if node.host else here
            programs.append(
                _ray(scene, (_patched(scene, number, node), node.host), f"--address={address}", "--num-cpus=1",
                     f"--node-ip-address={there}", "--disable-usage-stats")
            )  # fmt: skip
        if nodes:
            _wait_for_ray(scene, address, 1 + len(nodes))
        cluster = Cluster("ray", address, head, tuple(programs), dict(scene.environment))
        cluster.join(scene)
        yield cluster
    finally:
        for program in reversed(programs):
            kill_tree(program)


def _ray(scene: Scene, where: tuple[Path, Host | None] | None, *words: str) -> subprocess.Popen[bytes]:
    folder, host = where or (REPO, None)
    command = [
        str(Path(sys.executable).with_name("ray")),
        "start",
        "--block",
        "--object-store-memory=80000000",
    ]
    return subprocess.Popen(
        (host.command if host else _as_it_is)(*command, *words),
        cwd=REPO,
        env=scene.variables(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _as_it_is(*words: str) -> list[str]:
    return list(words)


def _wait_for_ray(scene: Scene, address: str, nodes: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        name, _, port = address.rpartition(":")
        with suppress(OSError):
            socket.create_connection((name, int(port)), timeout=1).close()
            break
        time.sleep(0.2)
    command = [sys.executable, "-c", WAIT_FOR_NODES, address, str(nodes)]
    environment = {**scene.variables(), "TMPDIR": "/tmp"}
    for _ in range(6):  # the head answers a little before it lets drivers in
        with suppress(subprocess.TimeoutExpired):
            if not subprocess.run(
                command, env=environment, check=False, capture_output=True, timeout=30
            ).returncode:
                return
        time.sleep(1)
    raise RuntimeError(f"the Ray cluster at {address} does not get {nodes} nodes")


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def kill_tree(program: subprocess.Popen[bytes]) -> None:
    """End a program with all its children."""
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(program.pid).children(recursive=True)
        for process in [psutil.Process(program.pid), *family]:
            with suppress(psutil.NoSuchProcess):
                os.kill(process.pid, 9)
    program.wait()
