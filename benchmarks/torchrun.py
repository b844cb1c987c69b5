"""What the network between ranks costs: the same training steps in the workers of one process and in ranks of torchrun.

Both on this machine, so that the network is the loopback interface: what is measured is sending, receiving and waiting, not a
cable. It has no peer. ``equal`` says that all runs gave one artifact. The ratios are step times, one process over torchrun, so
below 1 torchrun is slower: ``one_rank`` and ``two_ranks``.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, finish, show_table
from samebits.bench.cell import Cell, run_cell
from samebits.core.observing.units import show_size

SIDES = (("lockstep", 1), ("torchrun", 1), ("lockstep", 2), ("torchrun", 2))
WARM = 3  # steps that are not counted: first touches of memory


def step_times(output: Path) -> list[float]:
    """Return the seconds of each step, as the run itself told them."""
    events = [json.loads(line) for line in (output / "events.jsonl").read_bytes().splitlines()]
    return [event["seconds"] for event in events if event["event"] == "ShardDone"][WARM:]


def measure(rounds: int, steps: int, scratch: Path) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Train every side once a round; return step times and seconds by side, and all digests."""
    text = resources.files("samebits") / "samples" / "en.txt"
    config = {"inputs": [str(text)], "steps": steps, "sample_tokens": 1, "tensorboard": False}
    found: dict[str, dict[str, Any]] = {f"{name}_{n}": {"steps": [], "seconds": []} for name, n in SIDES}
    digests = set()
    for number in range(rounds):
        for name, workers in SIDES:
            output = scratch / f"{name}-{workers}-{number}"
            record = run_cell("lm", config, Cell(name, workers), output)
            side = found[f"{name}_{workers}"]
            side["steps"].append(statistics.median(step_times(output)))
            side["seconds"].append(record["seconds"])
            side["parameters"] = record["metrics"]["parameters"]
            side["memory"] = record["metrics"]["memory"]
            digests.add(record["artifact_digest"])
    return found, digests


def main() -> None:
    """Measure and report."""
    options = arguments(__doc__.splitlines()[0])
    steps = 12 if options.quick else 20
    with tempfile.TemporaryDirectory() as folder:
        found, digests = measure(options.rounds, steps, Path(folder))
    medians = {name: statistics.median(side["steps"]) for name, side in found.items()}
    rows = [
        [
            name,
            f"{medians[name] * 1e3:.1f} ms",
            " ".join(f"{seconds * 1e3:.1f}" for seconds in side["steps"]),
            f"{statistics.median(side['seconds']):.1f} s",
            show_size(side["memory"]["largest_worker"]),
        ]
        for name, side in found.items()
    ]
    show_table(["side", "a step", "medians of rounds", "whole run", "a worker's memory"], rows)
    print(f"equal: {len(digests) == 1}")
    ratios = {
        "one_rank": medians["lockstep_1"] / medians["torchrun_1"],
        "two_ranks": medians["lockstep_2"] / medians["torchrun_2"],
    }
    details = {
        "sides": found,
        "a_step_ms": {name: round(seconds * 1e3, 2) for name, seconds in medians.items()},
        "steps": steps,
        "rounds": options.rounds,
        "preset": "shakespeare-char",
        "load_average": os.getloadavg()[0],  # above 2 or so, others were at work on this machine too
    }
    finish("torchrun", equal=len(digests) == 1, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
