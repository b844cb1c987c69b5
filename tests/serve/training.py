"""A program that trains nothing but looks as if it did: real plan, lock, journal, events and artifact, at any pace.

``python -m tests.serve.training OUTPUT --steps 60 --pace 0.05`` can be killed and goes on like every other run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.api import run
from samebits.core.config import config_digest, option
from samebits.core.engine import Engine
from samebits.core.observing.events import Metric, ShardDone, StageDone, StageStarted, Warned
from samebits.core.options import RunOptions
from samebits.core.plan import Plan, ShardTable
from samebits.data.artifact import ArtifactWriter

__all__ = ["JOB", "TrainingConfig", "losses"]

TOKENS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """What is pretended."""

    inputs: tuple[str, ...] = option((), help="not used", location=True)
    steps: int = option(60, help="steps")
    seed: int = option(0, help="changes the losses from step 30 on")
    sample: str = option("the same bytes come out", help="what it writes")
    pace: float = option(0.02, help="seconds a step", location=True)


def losses(config: TrainingConfig) -> list[float]:
    """The loss of each step; runs that differ only in their seed part at step 30."""
    return [
        1.4
        + 2.9 * math.exp(-step / (0.25 * config.steps))
        + 0.06 * math.sin(step * (1.7 if step < 30 else 1.7 + config.seed))
        for step in range(config.steps)
    ]


@dataclass(frozen=True)
class TrainingJob:
    """The job."""

    name: str = "lm"
    version: int = 1
    summary: str = "pretend to train"
    Config: type[TrainingConfig] = TrainingConfig
    default_executor: str = "serial"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0

    def plan(self, config: TrainingConfig) -> Plan:
        """One shard: what is cut does not matter here."""
        shards = ShardTable.from_ranges(source=[0], start=[0], stop=[config.steps])
        return Plan(
            job=self.name,
            version=1,
            seed=config.seed,
            config_digest=config_digest(config),
            input_digest="",
            source_names=("steps",),
            shards=shards,
        )

    def run(self, plan: Plan, config: TrainingConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Tell about every step, at the pace that is asked for."""
        assert engine.place.folder is not None
        folder = engine.place.folder / "lm"
        folder.mkdir(parents=True, exist_ok=True)
        at = folder / "at"
        first = int(at.read_text()) if at.exists() else 0
        tell, values = engine.observer, losses(config)
        tell(StageStarted("train", config.steps, config.steps * TOKENS, "tokens", "steps"))
        if first:
            tell(Warned(f"continuing after step {first} of {config.steps}"))
            tell(ShardDone("train", first - 1, first * TOKENS, time.monotonic(), 0.0, "", "", True))
        for step in range(first, config.steps):
            started = time.monotonic()
            time.sleep(config.pace)
            tell(Metric("loss", values[step]))
            tell(Metric("lr", 0.001 * min(1.0, (step + 1) / 8)))
            tell(ShardDone("train", step, TOKENS, started, time.monotonic() - started, "", "", False))
            if step % 10 == 9:
                tell(Metric("val_loss", values[step] + 0.1))
                (folder / f"step-{step + 1:06}.txt").write_text(f"{config.sample} {step + 1}\n")
                at.write_text(str(step + 1))
        tell(StageDone("train", 1.0))
        rows = [{"step": k, "loss": loss.hex(), "lr": 0.001} for k, loss in enumerate(values)]
        out.write_bytes("steps.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
        checks = [{"step": k + 1, "loss": (values[k] + 0.1).hex()} for k in range(9, config.steps, 10)]
        out.write_bytes("val.jsonl", "".join(json.dumps(row) + "\n" for row in checks).encode())
        for path in sorted(folder.glob("step-*.txt")):
            out.write_bytes(f"samples/{path.name}", path.read_bytes())
        out.write_bytes("samples/final.txt", f"{config.sample}\n".encode())
        return {"steps": config.steps, "train_loss": values[-1], "val_loss": values[-1] + 0.1}


JOB = TrainingJob()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=float, default=0.02)
    parser.add_argument("--sample", default="the same bytes come out")
    given = parser.parse_args()
    config = TrainingConfig(steps=given.steps, seed=given.seed, pace=given.pace, sample=given.sample)
    run(JOB, config, output=Path(given.output), options=RunOptions())


if __name__ == "__main__":
    main()
