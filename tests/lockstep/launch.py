"""Start ranks: as torchrun does, or by setting its variables, which saves the time that torchrun takes to import torch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from samebits.machine.ranks import VARIABLES

REPO = Path(__file__).resolve().parents[2]
LONG = 100.0  # seconds after which a rank counts as hung


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(
    world: int,
    command: Sequence[str],
    *,
    variables: Mapping[int, Mapping[str, str]] | None = None,
    each: Mapping[int, Sequence[str]] | None = None,
    before: Mapping[int, Sequence[str]] | None = None,
    address: str = "127.0.0.1",
    folder: Path = REPO,
) -> list[subprocess.Popen[str]]:
    """Start ranks by hand; ``variables``, ``each`` (arguments) and ``before`` (a prefix) are for single ranks."""
    port = free_port()
    found = []
    for rank in range(world):
        values = dict(zip(VARIABLES, (str(rank), str(world), address, str(port)), strict=True))
        found.append(
            subprocess.Popen(
                [*(before or {}).get(rank, ()), sys.executable, *command, *(each or {}).get(rank, ())],
                cwd=folder,
                env={**os.environ, **values, "LOCAL_RANK": str(rank), **(variables or {}).get(rank, {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return found


def start_fit(world: int, given: Mapping[str, Any], **extra: Any) -> list[subprocess.Popen[str]]:
    """Start ranks of ``rank_main``."""
    return start(world, ["-m", "tests.lockstep.rank_main", json.dumps(given)], **extra)


def endings(processes: Sequence[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Return what each rank printed as its last line; a hung rank fails the test by its own name."""
    found = []
    for rank, process in enumerate(processes):
        try:
            output, errors = process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            raise AssertionError(f"rank {rank} hangs") from None
        lines = output.splitlines()
        found.append(json.loads(lines[-1]) if lines else {"killed": process.returncode, "errors": errors})
    return found


def torchrun(world: int, *command: str, folder: Path = REPO) -> subprocess.CompletedProcess[str]:
    """Run a command under torchrun itself, on a port of its own."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    return subprocess.run(
        [*launcher, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
