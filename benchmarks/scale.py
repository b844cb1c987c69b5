"""What 8, 64 and 1,000 workers and terabytes would take: measured costs, and a simulation of the engine on top of them.

Every job is run on generated inputs of two sizes by an executor that measures (``scale_probe``, CPU seconds); the simulation
(``scale_sim``) then plays runs that no single machine can. ``--record`` takes the costs from the committed record
instead of measuring. It has no peer: ``equal`` says that the threaded runs it compares itself with gave the serial digest. The
ratios are predicted over measured wall seconds of 1 and 2 workers on this machine, so 1 is a perfect prediction.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import BENCH, RECORDS, arguments, finish, show_table
from benchmarks.scale_data import TAIL, write_inputs
from benchmarks.scale_model import LOCAL_WORKERS, World, fit, predict, training
from benchmarks.scale_probe import cases, measure_job, measure_step, train_tokenizer
from samebits.machine.caps import one_math_thread
from samebits.machine.cores import look_at_machine

WORKERS = (1, 8, 64, 1000)
SIZES = (10**9, 10**11, 10**12, 10**13)
PAIRS = "graph_matrix"  # its size is a number of pairs
PAIR_SIZES = (10**6, 10**8, 10**10)
IN_MEMORY = 1e12  # bytes a second: inputs that were just written come from memory
COMPARED = ("count", "charset", "langid_exact", "tokens")


def measure(rounds: int, folder: Path) -> dict[str, Any]:
    """Run every case at two sizes; the round with the median CPU time of each counts."""
    costs: dict[str, Any] = {}
    for size in ("small", "large"):
        for name, (job, config) in cases(folder / size, folder / "bpe").items():
            if size == "small":
                measure_job(job, config, folder / "out" / job)  # loads what is loaded once, e.g. a model
            found = [measure_job(job, config, folder / "out" / job).as_dict() for _ in range(rounds)]
            costs.setdefault(name, {})[size] = sorted(found, key=_cpu)[rounds // 2]
    text = folder / "large" / "charset" / "de" / "text-000.txt"
    with one_math_thread():
        costs["lm"] = measure_step(text, preset="shakespeare-char", num_steps=2 + rounds)
    return costs


def _cpu(cost: dict[str, Any]) -> float:
    stages = sum(stage["task"] + stage["driver"] for stage in cost["stages"])
    return float(cost["plan"] + cost["rest"] + stages)


def compare(models: dict[str, Any], folder: Path, rounds: int) -> tuple[dict[str, Any], bool]:
    """Predict runs with 1 and 2 threads on this machine, and do them."""
    cores = look_at_machine().physical
    found: dict[str, Any] = {}
    equal = True
    for name in COMPARED:
        job, config = cases(folder / "large", folder / "bpe")[name]
        num_bytes = round(models[name]["stages"][0]["shard_bytes"] * models[name]["stages"][0]["shards"])
        digests = set()
        for workers in (1, 2):
            walls = []
            for _ in range(rounds):
                options = samebits.RunOptions(
                    workers=str(workers), executor="threads", overwrite=True, resume=False
                )
                record = samebits.run(job, config, output=folder / "out" / "compared", options=options)
                walls.append(record.seconds)
                digests.add(record.artifact_digest)
            wanted = predict(models[name], num_bytes, workers, World(cores=cores, disk=IN_MEMORY))["seconds"]
            found[f"{name}_{workers}"] = {"predicted": wanted, "measured": statistics.median(walls)}
        serial = samebits.RunOptions(executor="serial", overwrite=True, resume=False)
        digests.add(
            samebits.run(job, config, output=folder / "out" / "compared", options=serial).artifact_digest
        )
        equal = equal and len(digests) == 1
    return found, equal


def show(predictions: dict[str, Any], steps: Sequence[dict[str, Any]], compared: dict[str, Any]) -> None:
    """Print the tables."""
    rows = []
    for name, by_size in predictions.items():
        for size, by_workers in by_size.items():
            cells = [
                f"{by_workers[str(w)]['seconds']:,.4g} s ({by_workers[str(w)]['bottleneck']})"
                for w in WORKERS
            ]
            shown = f"{int(size):.0e} pairs" if name == PAIRS else f"{int(size) / 1e9:,.0f} GB"
            rows.append([name, shown, *cells])
    show_table(["job", "input", *(f"{w} workers" for w in WORKERS)], rows)
    print()
    show_table(
        ["lm: workers", "shards", "batch", "ms a step", "tokens/s", "bottleneck", "shared MB"],
        [
            [
                str(row["workers"]),
                str(row["shards"]),
                str(row["batch"]),
                f"{row['step_seconds'] * 1e3:.1f}",
                f"{row['tokens_per_second']:,.0f}",
                row["bottleneck"],
                f"{row['shared_bytes'] / 1e6:.0f}",
            ]
            for row in steps
        ],
    )
    print()
    show_table(
        ["on this machine", "predicted s", "measured s"],
        [[name, f"{pair['predicted']:.3f}", f"{pair['measured']:.3f}"] for name, pair in compared.items()],
    )


def remote_seconds() -> float:
    """Return what a shard costs the driver when it goes to another process and back, as ``benchmarks.engine`` measured it."""
    record = json.loads((RECORDS / "engine.json").read_bytes())
    return float(record["details"]["median_seconds"]["processes"])


def main() -> None:
    """Measure or read, simulate, compare, report."""
    options = arguments(
        __doc__.splitlines()[0], link=1.25e9, storage=20e9, disk=2e9, remote=remote_seconds(), record=""
    )
    world = World(options.link, options.storage, options.disk, LOCAL_WORKERS, options.remote)
    if options.record:
        record = json.loads((RECORDS / options.record).read_bytes())
        costs, compared, equal = (
            record["details"]["costs"],
            record["details"]["compared"],
            bool(record["equal"]),
        )
        options.quick = True  # nothing was measured, so the committed record stays as it is
    else:
        folder = BENCH / ("scale-quick" if options.quick else "scale")
        rounds = 1 if options.quick else options.rounds
        write_inputs(folder, share=2 if options.quick else 1)
        train_tokenizer(folder / "small", folder / "bpe")
        costs = measure(rounds, folder)
        compared, equal = compare(models_of(costs), folder, rounds)
    predictions = {
        name: {
            str(size): {str(w): predict(model, size, w, world) for w in WORKERS} for size in sizes_of(name)
        }
        for name, model in models_of(costs).items()
    }
    steps = training(costs["lm"])
    show(predictions, steps, compared)
    details = {
        "assumed": asdict(world),
        "costs": costs,
        "models": models_of(costs),
        "predictions": predictions,
        "training": steps,
        "compared": compared,
        "rounds": options.rounds,
        "load_average": os.getloadavg()[0],  # above 2 or so, others were at work on this machine too
    }
    ratios = {name: pair["predicted"] / pair["measured"] for name, pair in compared.items()}
    finish("scale", equal=equal, ratios=ratios, details=details, options=options)


def sizes_of(name: str) -> tuple[int, ...]:
    """Return the sizes to predict for a job: bytes, or pairs of graphs."""
    return PAIR_SIZES if name == PAIRS else SIZES


def models_of(costs: dict[str, Any]) -> dict[str, Any]:
    """Fit a model for every map job."""
    powers = {"count": 1 / TAIL, "count_gz": 1 / TAIL, "charset": 0.0}
    return {
        name: fit(
            cost["small"],
            cost["large"],
            power=powers.get(name, 1.0),
            one_file=name == "count_gz",
            in_bytes=name != PAIRS,
        )
        for name, cost in costs.items()
        if name != "lm"
    }


if __name__ == "__main__":
    main()
