"""A job made to be disturbed: many small shards, each with a pause, and faults planted by name.

The pause and the fault are marked as locations: they must not change the result, so they are not digested. A fault is
written ``name:shard[:times]``; how often it struck is counted in files, because the worker that counted may be dead.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from samebits.core.config import config_digest, option
from samebits.core.engine import Engine
from samebits.core.job import Job
from samebits.core.plan import Plan, Shard, cut
from samebits.core.ports.executor import Task
from samebits.core.seeds import rng_for
from samebits.data.artifact import ArtifactWriter
from samebits.errors import InputError

__all__ = ["JOB", "Dying", "Paused", "SlowConfig", "SlowShard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowConfig:
    """What to compute: ``shards`` parts of ``part_bytes`` bytes each."""

    inputs: tuple[str, ...] = option((), help="not used", location=True)
    shards: int = option(24, help="number of shards")
    part_bytes: int = option(100, help="size of each part")
    pause: float = option(0.0, help="seconds of sleep a shard", location=True)
    fault: str = option("", help="name:shard[:times]", location=True)
    marks: str = option("", help="folder that counts how often a fault struck", location=True)


@dataclass(frozen=True)
class SlowShard:
    """The task."""

    config: SlowConfig

    def __call__(self, shard: Shard, state: Any, /) -> dict[str, Any]:
        if self.config.pause:
            time.sleep(self.config.pause)
        if self.strikes(shard):
            strike(self.config.fault.partition(":")[0])
        noise = rng_for(7, "slow", shard.index).integers(0, 256, self.config.part_bytes, dtype=np.uint8)
        if self.config.fault.startswith("nondeterministic"):
            noise[0] = time.monotonic_ns() % 251
        return {"index": shard.index, "noise": noise, "sum": float(noise.sum()) / 3}

    def strikes(self, shard: Shard) -> bool:
        """Tell whether the fault hits this shard now, and count it."""
        name, _, where = self.config.fault.partition(":")
        index, _, times = where.partition(":")
        if not name or index == "" or int(index) != shard.index:
            return False
        struck = Path(self.config.marks) / f"{name}-{shard.index}"
        if times and struck.exists() and struck.stat().st_size >= int(times):
            return False
        with struck.open("ab") as file:
            file.write(b"x")
        return True


@dataclass(frozen=True)
class Paused:
    """The task of another job, with a pause before each shard."""

    task: Task
    pause: float

    @property
    def part_type(self) -> type[Any] | None:
        """What the task says of its parts."""
        return getattr(self.task, "part_type", None)

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        time.sleep(self.pause)
        return self.task(shard, state)


@dataclass(frozen=True)
class Dying:
    """The task of another job; the first worker that is given one of its shards dies."""

    task: Task
    index: int
    mark: str

    @property
    def part_type(self) -> type[Any] | None:
        """What the task says of its parts."""
        return getattr(self.task, "part_type", None)

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        if shard.index == self.index and not Path(self.mark).exists():
            Path(self.mark).write_bytes(b"x")
            strike("kill")
        return self.task(shard, state)


def strike(name: str) -> None:
    """Do what the name says."""
    if name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif name == "slow":
        time.sleep(3)
    elif name == "exit":
        os._exit(0)
    elif name == "memory":
        raise MemoryError("no more memory")
    elif name == "limit":  # a real one: this process may not grow any more
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (32 << 20), hard))
        try:
            np.ones(1 << 27, dtype=np.uint8)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    elif name == "raise":
        raise ZeroDivisionError("planted")
    elif name == "read":
        raise InputError(
            "cannot be read: Input/output error", path="planted.txt", offset=4096, hint="planted"
        )


@dataclass(frozen=True)
class SlowJob:
    """Ties the pieces together."""

    name: str = "slow"
    version: int = 1
    summary: str = "a job made to be disturbed"
    Config: type[SlowConfig] = SlowConfig
    default_executor: str = "processes"
    stages: tuple[str, ...] = ("slow",)
    bytes_per_worker: int = 0
    floating: bool = False

    def plan(self, config: SlowConfig) -> Plan:
        """One unit a shard."""
        return Plan(
            job=self.name,
            version=self.version,
            seed=7,
            config_digest=config_digest(config),
            input_digest="none",
            source_names=("planted",),
            shards=cut([config.shards], 1),
        )

    def run(self, plan: Plan, config: SlowConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Write the parts one after the other."""
        total = 0.0
        with out.open("noise.bin") as file:
            for _, part in engine.map_ordered("slow", SlowShard(config), plan.shards, unit="items"):
                file.write(part["noise"].tobytes())
                total += part["sum"]
        out.write_json("total.json", {"total": total.hex()})
        return {"total": total}


JOB = cast("Job", SlowJob())  # the protocol has plain attributes, a frozen dataclass read-only ones
