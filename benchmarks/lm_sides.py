"""Both sides of the benchmarks of ``lm`` as processes: a plain PyTorch trainer that obeys lines, and a run of lockstep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.common import BENCH, REPO

__all__ = ["Peer", "each_of_ours", "ours", "say"]

NOTHING: Mapping[str, str] = MappingProxyType({})


def say(text: str) -> None:
    """Tell where the benchmark is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


class Peer:
    """A plain PyTorch trainer that obeys lines."""

    def __init__(
        self,
        mode: str,
        extra: list[str],
        data: Path,
        *,
        size: str = "preset",
        env: Mapping[str, str] = NOTHING,
    ) -> None:
        launch = ["-m", "benchmarks.lm_plain_peer"]
        if mode == "ddp":
            run = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29655"]
            launch = [*run, "-m", "benchmarks.lm_plain_peer"]
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
        cache = {"TORCHINDUCTOR_CACHE_DIR": str(BENCH / "inductor"), "PYTHONPATH": str(REPO)}
        cache["LM_PLAIN_SIZE"] = size
        self.process = subprocess.Popen(
            [sys.executable, *launch, "--data", str(data), "--mode", mode, *extra],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**kept, **cache, **env},
        )
        self.step = 0
        self.read()

    def read(self) -> str:
        """Return the next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("a plain PyTorch trainer ended early; its words are above")
        return line

    def ask(self, line: str) -> float:
        """Give an order and return its number."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.read()))

    def train(self, steps: int) -> float:
        """Make steps; return seconds."""
        self.step += steps
        return self.ask(f"train {steps}")

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def ours(
    data: Path,
    workers: int,
    settings: Mapping[str, Any],
    *,
    python: Sequence[str] = (sys.executable,),
    env: Mapping[str, str] = NOTHING,
    **more: Any,
) -> dict[str, Any]:
    """Run lockstep once and return what it tells.

    Args:
        data: The text.
        workers: How many.
        settings: Those of ``LmConfig``.
        python: The interpreter, or a command that emulates one.
        env: Variables: an instruction set (``SAMEBITS_ISA``), another build (``PYTHONPATH``).
        more: What else ``lm_lockstep_peer`` takes.
    """
    (found,) = each_of_ours(data, workers, [settings], python=python, env=env, **more)
    return found


def each_of_ours(
    data: Path,
    workers: int,
    runs: Iterable[Mapping[str, Any]],
    *,
    python: Sequence[str] = (sys.executable,),
    env: Mapping[str, str] = NOTHING,
    **more: Any,
) -> list[dict[str, Any]]:
    """Do the same for several settings, one run after the other in one process: an emulated Python takes long to start."""
    requests = [{"data": str(data), "workers": workers, "settings": settings, **more} for settings in runs]
    done = subprocess.run(
        [*python, "-m", "benchmarks.lm_lockstep_peer"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO), **env},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
