"""Both sides of the benchmarks of ``lm`` as processes: a plain PyTorch trainer that obeys lines, and a run of lockstep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.common import BENCH, REPO

__all__ = ["Peer", "each_of_ours", "memory_of", "ours", "say"]

NOTHING: Mapping[str, str] = MappingProxyType({})
LOOK_SECONDS = 0.2


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


def memory_of(data: Path, workers: int, flags: Sequence[str]) -> dict[str, int]:
    """Run ``samebits lm train`` and return the most bytes that the command and its workers held together, and of what kind.

    Read from ``/proc/<pid>/smaps``, as if nothing else ran: private memory of all, shared memory once, and of every file (code of
    libraries) the pages of the process that has most of them. A sum of proportional set sizes would be smaller by what other programs
    on the machine have of the same libraries. A look takes some milliseconds on a core that a worker computes on: a run whose
    memory is measured is not one to take times of.
    """
    most = {"all": 0}
    with tempfile.TemporaryDirectory(prefix="samebits-lm-") as folder:
        output = Path(folder) / "run"
        command = [sys.executable, "-m", "samebits", "lm", "train", str(data), "-o", str(output)]
        process = subprocess.Popen(
            [*command, "-w", str(workers), *flags, "--no-progress", "--quiet"], cwd=REPO
        )
        while process.poll() is None:
            held = _held_by((process.pid, *_children(process.pid)))
            most = max(most, held, key=lambda found: found["all"])
            time.sleep(LOOK_SECONDS)
        if process.returncode:
            sys.exit("samebits lm train failed; its words are above")
    return most


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    except OSError:
        return []


def _held_by(pids: Sequence[int]) -> dict[str, int]:
    """Return bytes of processes that share memory: private, shared between them, of files, and all of it."""
    private, shared, files = list[int](), 0, dict[str, int]()
    for pid in pids:
        own, mapped = 0, dict[str, int]()
        for name, sizes in _mappings(pid):
            if name.startswith("/memfd:"):
                shared += sizes["Pss"]
                continue
            own += sizes["Anonymous"]
            mapped[name] = mapped.get(name, 0) + sizes["Rss"] - sizes["Anonymous"]
        private.append(own)
        files = {name: max(files.get(name, 0), mapped.get(name, 0)) for name in {*files, *mapped}}
    found = {"private_parent": private[0], "private_largest_worker": max(private[1:], default=0)}
    return {
        **found,
        "shared": shared,
        "files": sum(files.values()),
        "all": sum(private) + shared + sum(files.values()),
    }


def _mappings(pid: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the name of every mapping of a process with its sizes in bytes; nothing if it ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text("utf-8").splitlines()
    except OSError:
        return
    name, sizes = "", dict[str, int]()
    for line in lines:
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            name, sizes = rest[4] if len(rest) > 4 else "", {}
        elif rest[-1] == "kB":
            sizes[first[:-1]] = int(rest[0]) * 1024
        elif first == "VmFlags:":
            yield name, sizes
