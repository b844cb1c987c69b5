"""What 8, 64 and 1,000 workers and terabytes would take: measured costs, and a simulation of the engine on top of them.

Every job is run on generated inputs of two sizes by an executor that measures (``scale_probe``, CPU seconds); the simulation
(``scale_sim``) then plays runs that no single machine can. ``--record`` takes the costs from the committed record
instead of measuring, ``--again count,charset`` all but those of some cases; ``--check dask,ray`` repeats the runs on these that predictions are compared with
(``scale_check``). It has no peer: ``equal`` says that these runs gave one digest for each job, whatever the place.
``sim_64_count`` and so on are how much faster 64 and 1,000 workers are than one, ``sim_ms_…`` the same if a task costs the driver a whole millisecond.
Ratios of a place (none in the key: threads), job and number of workers are predicted over measured wall seconds on this machine, so 1 is a perfect prediction.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, RECORDS, arguments, finish, show_table
from benchmarks.driver_data import many_of
from benchmarks.scale_check import PLACES, check, predicted
from benchmarks.scale_data import TAIL, write_inputs, write_vocabularies
from benchmarks.scale_model import LOCAL_WORKERS, World, fit, predict, training
from benchmarks.scale_probe import as_large, cases, measure_job, measure_step, measure_words, train_tokenizer
from samebits.data.array_file import map_array
from samebits.machine.caps import one_math_thread

WORKERS = (1, 8, 64, 1000)
SIZES = (10**9, 10**11, 10**12, 10**13)
PAIRS = "graph_matrix"  # its size is a number of pairs
PAIR_SIZES = (10**6, 10**8, 10**10)
# GB, both so much that caches are as cold as they get, and nodes have several shards
MANY = {
    "tokens": (1.0, 6.0),
    "charset_decode": (0.6, 2.4),
    "count": (1.0, 8.0),
    "charset": (0.6, 2.4),
    "langid_exact": (0.3, 2.0),
    "langid_backoff": (0.3, 2.0),
}
ONE_MS = 1e-3  # about what a task costs the driver on Dask


def measure(rounds: int, folder: Path, only: Sequence[str] = ()) -> dict[str, Any]:
    """Run every case, or only some, at two sizes; the round with the median CPU time of each counts."""
    costs: dict[str, Any] = {}
    for size in ("small", "large"):
        for name, (job, config) in cases(folder / size, folder / "bpe").items():
            if only and name not in only:
                continue
            if size == "small":
                measure_job(job, config, folder / "out" / job)  # loads what is loaded once, e.g. a model
            found = [measure_job(job, config, folder / "out" / job).as_dict() for _ in range(rounds)]
            costs.setdefault(name, {})[size] = sorted(found, key=_cpu)[rounds // 2]
    for name in [name for name in MANY if not only or name in only]:
        costs[name]["many"] = measure_many(name, folder, rounds)
    if not only or "langid_backoff" in only:
        words = measure_words(write_vocabularies(folder), folder / "out", rounds)
        number = len(map_array(folder / "out" / "langid" / "word_sizes.npy"))  # of the last model
        costs["langid_backoff"]["words"] = {**words, "number": number}
    if only:
        return costs
    text = folder / "large" / "charset" / "de" / "text-000.txt"
    with one_math_thread():
        costs["lm"] = measure_step(text, preset="shakespeare-char", num_steps=2 + rounds)
    return costs


def measure_many(name: str, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Return what the driver does in the stages and beside them, of two inputs much larger than the others: what grows by little shows there."""
    job, config = cases(folder / "large", folder / "bpe")[name]
    sizes = [many_of(Path(config.inputs[0]), size) for size in MANY[name]]
    medians = []
    for each in [replace(config, inputs=(str(many),)) for many in sizes]:
        found = [measure_job(job, each, folder / "out" / job).as_dict() for _ in range(min(rounds, 3))]
        median = sorted(found, key=lambda cost: float(cost["rest"]))[len(found) // 2]
        medians.append({key: median[key] for key in ("input_bytes", "rest", "phases", "removing", "stages")})
    return medians


def _cpu(cost: dict[str, Any]) -> float:
    stages = sum(stage["task"] + stage["driver"] for stage in cost["stages"])
    return float(cost["plan"] + cost["rest"] + stages)


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


def _inputs(options: argparse.Namespace) -> tuple[Path, int]:
    """Write the inputs; return their folder, and how many rounds to measure."""
    folder = BENCH / ("scale-quick" if options.quick else "scale")
    write_inputs(folder, share=2 if options.quick else 1)
    train_tokenizer(folder / "small", folder / "bpe")
    return folder, 1 if options.quick else options.rounds


def _measured_before(
    record: dict[str, Any], again: Sequence[str], options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Take costs from a record, but for some cases that are measured again."""
    costs, equal = record["details"]["costs"], bool(record["equal"])
    compared = {key: pair for key, pair in record["details"]["compared"].items() if "bytes" in pair}
    if not again and not options.check:
        return costs, compared, equal
    folder, rounds = _inputs(options)
    costs = costs | (measure(rounds, folder, again) if again else {})
    if options.check:
        found, same = check(models_of(costs), folder, options.check.split(","))
        compared, equal = compared | found, equal and same
    for key, pair in compared.items():  # what was measured stays, what is predicted follows the costs
        compared[key] = pair | {"predicted": predicted(models_of(costs), key, pair)}
    return costs, compared, equal


def main() -> None:
    """Measure or read, simulate, compare, report."""
    options = arguments(
        __doc__.splitlines()[0],
        link=1.25e9,
        storage=20e9,
        disk=2e9,
        remote=remote_seconds(),
        record="",
        again="",
        check="",
    )
    world = World(options.link, options.storage, options.disk, LOCAL_WORKERS, options.remote)
    again = [name for name in options.again.split(",") if name]
    if options.record or again or options.check:
        record = json.loads((RECORDS / (options.record or "scale.json")).read_bytes())
        costs, compared, equal = _measured_before(record, again, options)
        # where nothing was measured, the committed record stays as it is
        options.quick = options.quick or not (again or options.check)
    else:
        folder, rounds = _inputs(options)
        costs = measure(rounds, folder)
        compared, equal = check(models_of(costs), folder, PLACES)
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
        "again": again,  # cases measured today; the others are of the record before
        "load_average": os.getloadavg()[0],  # above 2 or so, others were at work on this machine too
    }
    ratios = {name: pair["predicted"] / pair["measured"] for name, pair in compared.items()}
    ratios |= gains(models_of(costs), options.remote) | driver_seconds(predictions)
    slow = gains(models_of(costs), ONE_MS)
    ratios |= {key.replace("sim_", "sim_ms_", 1): value for key, value in slow.items()}
    ratios["driver_seconds_per_million_words_langid"] = costs["langid_backoff"]["words"]["driver"] * 1e6
    finish("scale", equal=equal, ratios=ratios, details=details, options=options)


def gains(models: dict[str, Any], remote: float) -> dict[str, float]:
    """Return how much faster 64 and 1,000 workers are than one, at 1 TB, where neither network nor storage is the limit."""
    free = World(math.inf, math.inf, math.inf, LOCAL_WORKERS, remote)
    found = {}
    for name, model in models.items():
        size = sizes_of(name)[2]
        one = predict(model, size, 1, free)["seconds"]
        for workers in (64, 1000):
            found[f"sim_{workers}_{name}"] = one / predict(model, size, workers, free)["seconds"]
    return found


def driver_seconds(predictions: dict[str, Any]) -> dict[str, float]:
    """Return the driver's CPU seconds for each GB of 1 TB with 64 workers."""
    found = {}
    for name, by_size in predictions.items():
        if name != PAIRS:
            uses = by_size[str(10**12)]["64"]["uses"]
            found[f"sim_driver_seconds_per_gb_{name}"] = (uses["driver"] + uses["final write"]) / 1000
    return found


def sizes_of(name: str) -> tuple[int, ...]:
    """Return the sizes to predict for a job: bytes, or pairs of graphs."""
    return PAIR_SIZES if name == PAIRS else SIZES


def models_of(costs: dict[str, Any]) -> dict[str, Any]:
    """Fit a model for every map job."""
    # a table of distinct words, and models that hold one
    words = dict.fromkeys(("count", "langid_exact", "langid_backoff"), 1 / TAIL)
    powers = {**words, "charset": 0.0}
    return {
        name: fit(
            cost["small"],
            cost["large"],
            power=powers.get(name, 1.0),
            in_bytes=name != PAIRS,
            words=cost.get("words"),
            many=cost.get("many", ()),
        )
        for name, cost in costs.items()
        if name != "lm"
    }


if __name__ == "__main__":
    with as_large():  # sizes that matter here are above the limit, those that are measured below it
        main()
