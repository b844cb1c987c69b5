"""Training text-to-graph models: accuracy by depth for three seeds, and what a second worker brings.

Every model is trained on depths 2, 3 and 4 in four styles with the default settings of ``graph train``, and judged on expressions
of depths 2 to 5 that no training set holds; depth 5 was never trained on. Losses and weights do not depend on the load
of the machine, so accuracy may be measured on a busy one. ``two_workers`` is wall time and needs an idle one: it is the
median over rounds of (seconds of a step with one worker) / (seconds with two), interleaved, with weights compared; on few
examples, so that most of the time goes into steps.

Finished models are kept under .bench, so an interrupted run goes on where it was:  python -m benchmarks.graph_training
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import BENCH, RECORDS, arguments, finish, show_table
from samebits.core.observing.events import Event, ShardDone
from samebits.graph.config import EvalConfig, GenerateConfig, TrainConfig

FOLDER = BENCH / "graph_training"
DEPTHS = (2, 3, 4, 5)
SEEDS = (1, 2, 3)
TWO = samebits.RunOptions(workers="2")


def make(name: str, **settings: Any) -> Path:
    """Generate examples once."""
    folder = FOLDER / name
    if not (folder / "manifest.json").exists():
        samebits.run("graph_generate", GenerateConfig(**settings), output=folder, options=TWO)
    return folder


def cpu_seconds() -> float:
    """Processor time of this process and of all its children that ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def accuracy(seed: int, steps: int, data: Path, tests: dict[int, Path]) -> dict[str, Any]:
    """Train one model, or take the one that is there, and judge it at every depth."""
    model = FOLDER / f"model-{steps}-{seed}"
    if not (model / "manifest.json").exists():
        before = cpu_seconds()
        config = TrainConfig(inputs=(str(data),), steps=steps, seed=seed)
        samebits.run("graph_train", config, output=model, options=TWO)
        (FOLDER / f"{model.name}.cpu").write_text(str(cpu_seconds() - before))
    record = json.loads((model / "record.json").read_text())
    cpu = FOLDER / f"{model.name}.cpu"
    row: dict[str, Any] = {
        "seed": seed,
        "steps": steps,
        "seconds": round(record["seconds"], 1) if cpu.exists() else None,  # None: interrupted and continued
        "cpu_seconds": round(float(cpu.read_text()), 1) if cpu.exists() else None,
        "weights": record["metrics"]["state_digest"],
        "parameters": record["metrics"]["parameters"],
    }
    for depth, folder in tests.items():
        judged = FOLDER / f"judged-{steps}-{seed}-{depth}"
        if not (judged / "manifest.json").exists():
            config_ = EvalConfig(inputs=(str(folder),), model=str(model))
            samebits.run("graph_eval", config_, output=judged, options=TWO)
        report = json.loads((judged / "report.json").read_text())
        row[f"depth_{depth}"] = {
            name: report[name]
            for name in ("examples", "exact_match", "exact_match_argmax", "execution", "aligned_ged", "uas")
        }
    return row


class StepTimes:
    """Seconds of every step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, event: Event) -> None:
        """Take the time of a step."""
        if isinstance(event, ShardDone) and event.stage == "train" and not event.resumed:
            self.seconds.append(event.seconds)


def step_seconds(workers: int, steps: int, data: Path) -> tuple[float, str]:
    """Return the mean seconds of a step, without the first ones, and the digest of the weights."""
    out, times = FOLDER / f"timing-{workers}", StepTimes()
    shutil.rmtree(out, ignore_errors=True)
    config = TrainConfig(inputs=(str(data),), steps=steps, validate_every=0)
    options = samebits.RunOptions(workers=str(workers))
    record = samebits.run("graph_train", config, output=out, options=options, observer=times)
    # batches differ in length, so steps do: only a mean over the same steps compares two runs
    return statistics.fmean(times.seconds[steps // 5 :]), record.metrics["state_digest"]


def two_workers(options: argparse.Namespace, data: Path) -> dict[str, Any]:
    """Time one and two workers in turn on the same steps."""
    steps, digests = options.timing_steps, set()
    ones: list[float] = []
    twos: list[float] = []
    for _ in range(options.rounds):
        for workers, found in ((1, ones), (2, twos)):
            seconds, digest = step_seconds(workers, steps, data)
            found.append(seconds)
            digests.add(digest)
    ratios = [one / two for one, two in zip(ones, twos, strict=True)]
    return {
        "one_worker_seconds": ones,
        "two_worker_seconds": twos,
        "ratio": statistics.median(ratios),
        "equal_weights": len(digests) == 1,
        "steps": steps,
    }


def last_record(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parts of the record of the run before; a quick run has none."""
    path = RECORDS / "graph_training.json"
    if options.quick or not path.exists():
        return {}
    details: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["details"]
    return details


def part(name: str, do: Callable[[], Any], options: argparse.Namespace) -> Any:
    """Return one part of the benchmark: measured now, or kept from the record when another was asked for."""
    kept = last_record(options).get(name)
    if options.only not in ("", name):
        return kept
    found = do()
    if name == "accuracy":  # seeds that were not asked for stay as they were
        now = {row["seed"] for row in found}
        found = sorted(
            [*found, *(row for row in kept or [] if row["seed"] not in now)], key=lambda row: row["seed"]
        )
    return found


def main() -> None:
    """Run all parts; ``--only timing`` and ``--only accuracy`` run one and keep the other from the last record.

    ``--seeds 1`` trains the first model only, and keeps the rows of the others.
    """
    options = arguments(__doc__ or "", only="", timing_steps=40, seeds=len(SEEDS))
    options.rounds = 1 if options.quick else options.rounds
    FOLDER.mkdir(parents=True, exist_ok=True)
    n, steps, seeds = (2_000, 60, SEEDS[:1]) if options.quick else (24_000, 1500, SEEDS)
    data = make(f"math-{n}", level=2, n=n, seed=1)
    size = 600 if options.quick else 6_000
    tests = {
        depth: make(f"test-{depth}-{size}", level=2, n=size, seed=99, depths=f"{depth}:1") for depth in DEPTHS
    }
    work: dict[str, Callable[[], Any]] = {
        "accuracy": lambda: [accuracy(seed, steps, data, tests) for seed in seeds[: options.seeds]],
        "timing": lambda: two_workers(options, make("math-2000", level=2, n=2_000, seed=1)),
    }
    found = {name: part(name, do, options) for name, do in work.items()}
    show(found)
    timing = found["timing"]
    finish(
        "graph_training",
        equal=timing is None or timing["equal_weights"],
        ratios={} if timing is None else {"two_workers": timing["ratio"]},
        details=found,
        options=options,
    )


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    rows = [
        [
            str(row["seed"]),
            "-" if row["seconds"] is None else f"{row['seconds']:.0f}",
            "-" if row["cpu_seconds"] is None else f"{row['cpu_seconds']:.0f}",
            *(f"{100 * row[f'depth_{depth}']['exact_match']:.1f}" for depth in DEPTHS),
            f"{100 * row['depth_5']['exact_match_argmax']:.1f}",
        ]
        for row in found["accuracy"] or []
    ]
    show_table(["seed", "s", "CPU s", *(f"depth {d} %" for d in DEPTHS), "depth 5 argmax %"], rows)
    if found["timing"]:
        timing = found["timing"]
        print(
            f"two workers: {timing['ratio']:.2f} times as fast as one; equal weights: {timing['equal_weights']}"
        )


if __name__ == "__main__":
    main()
