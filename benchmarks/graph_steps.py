"""Seconds of a training step of the text-to-graph model on one core: samebits against version 0.1, whose steps are PyTorch's.

Both sides train the same kind of model (two layers, 128 wide) on the same expressions with one worker, in turn; a side's
seconds are the mean over the same steps without the first fifth, because steps differ in length. ``batch_64`` and ``batch_128``
are theirs / ours, medians over rounds; ``equal`` says that every round gave the weights of the first. The default batch of 0.1 is 64, that of today 128. ``--before FOLDER`` names a
checkout of 0.1 with compiled kernels and torch:  python -m benchmarks.graph_steps --before FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import samebits
from benchmarks.common import BENCH, REPO, arguments, finish, show_table
from samebits.graph.config import GenerateConfig

FOLDER = BENCH / "graph_steps"
BATCHES = (64, 128)
STEPS = 60


def step_seconds(tree: Path, out: Path, data: Path, batch: int, steps: int) -> tuple[float, str]:
    """Train with the samebits of a tree; return the mean seconds of a step and the digest of the weights."""
    shutil.rmtree(out, ignore_errors=True)
    settings = ["--steps", str(steps), "--batch", str(batch), "--validate-every", "0", "-w", "1", "-q"]
    command = [sys.executable, "-m", "samebits", "graph", "train", str(data), "-o", str(out), *settings]
    subprocess.run(command, check=True, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree / "src")})
    events = map(json.loads, (out / "events.jsonl").read_text(encoding="utf-8").splitlines())
    seconds = [e["seconds"] for e in events if e.get("event") == "ShardDone" and e.get("stage") == "train"]
    if len(seconds) != steps:
        raise SystemExit(f"{out} tells of {len(seconds)} steps, not of {steps}")
    record = json.loads((out / "record.json").read_text(encoding="utf-8"))
    return statistics.fmean(seconds[steps // 5 :]), record["metrics"]["state_digest"]


def main() -> None:
    """Time both sides in turn and write the record."""
    options = arguments((__doc__ or "").splitlines()[0], before="")
    if not options.before:
        raise SystemExit("graph_steps needs --before FOLDER, a checkout of version 0.1 with compiled kernels")
    steps = 20 if options.quick else STEPS
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = FOLDER / "math"
    if not (data / "manifest.json").exists():
        samebits.run("graph_generate", GenerateConfig(level=2, n=4_000, seed=1), output=data)
    trees = {"before": Path(options.before).resolve(), "ours": REPO}
    found: dict[str, list[float]] = {}
    weights: set[tuple[str, str]] = set()
    for _ in range(options.rounds):
        for batch in BATCHES:
            for name, tree in trees.items():
                seconds, digest = step_seconds(tree, FOLDER / f"{name}-{batch}", data, batch, steps)
                found.setdefault(f"{name}_{batch}", []).append(seconds)
                weights.add((f"{name}_{batch}", digest))
    ratios = {
        batch: [x / y for x, y in zip(found[f"before_{batch}"], found[f"ours_{batch}"], strict=True)]
        for batch in BATCHES
    }
    rows = [
        [
            str(batch),
            *(f"{1000 * statistics.median(found[f'{name}_{batch}']):.0f}" for name in trees),
            f"{statistics.median(ratios[batch]):.2f}",
            f"{min(ratios[batch]):.2f} to {max(ratios[batch]):.2f}",
        ]
        for batch in BATCHES
    ]
    show_table(["batch", "0.1, ms", "ours, ms", "times as fast", "spread"], rows)
    finish(
        "graph_steps",
        equal=len(weights) == len(found),
        ratios={f"batch_{batch}": statistics.median(ratios[batch]) for batch in BATCHES},
        details={"seconds": found, "steps": steps},
        options=options,
    )


if __name__ == "__main__":
    main()
