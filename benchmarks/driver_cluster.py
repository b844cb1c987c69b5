"""A cluster with two workers whose scheduler is a process of its own, as people run one: the driver is what is left."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from samebits.machine.caps import THREAD_CAPS

__all__ = ["cluster_of"]

WORKERS = 2
START_SECONDS = 60.0


@contextmanager
def cluster_of(engine: str, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Start a cluster and end it; gives its address, and the environment that a driver needs to be let in."""
    started: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, **THREAD_CAPS}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as short:
            start = _start_dask if engine == "dask" else _start_ray
            yield start(started, environment, Path(short)), environment
            _end(started)
    finally:
        _end(started)


def _start_dask(started: list[subprocess.Popen[bytes]], environment: dict[str, str], folder: Path) -> str:
    file = folder / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
    _run(started, environment, sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *here)
    for number in range(WORKERS):
        scratch = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder / f"worker-{number}"))
        _run(started, environment, sys.executable, "-m", "distributed.cli.dask_worker", *here, *scratch)
    distributed: Any = import_module("distributed")  # Any: its classes are typed, their constructors are not
    until = time.monotonic() + START_SECONDS
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    address = str(json.loads(file.read_bytes())["address"])
    with distributed.Client(address, timeout=START_SECONDS) as client:
        client.wait_for_workers(WORKERS, timeout=START_SECONDS)
    return address


def _start_ray(started: list[subprocess.Popen[bytes]], environment: dict[str, str], folder: Path) -> str:
    environment.update(
        RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = str(Path(sys.executable).with_name("ray"))
    words = ("--block", "--head", f"--port={port}", f"--num-cpus={WORKERS}", "--node-ip-address=127.0.0.1")
    more = ("--include-dashboard=false", f"--temp-dir={folder}", "--object-store-memory=268435456")
    _run(started, environment, command, "start", *words, *more)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        time.sleep(0.2)
    time.sleep(5)  # the head answers a little before it lets drivers in
    return f"127.0.0.1:{port}"


def _run(started: list[subprocess.Popen[bytes]], environment: dict[str, str], *command: str) -> None:
    null = subprocess.DEVNULL
    started.append(subprocess.Popen(command, env=environment, stdout=null, stderr=null))


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    """Kill what was started, and what that has started."""
    while started:
        program = started.pop()
        with suppress(psutil.Error):
            for child in psutil.Process(program.pid).children(recursive=True):
                with suppress(psutil.Error):
                    child.kill()
        program.kill()
        program.wait()
