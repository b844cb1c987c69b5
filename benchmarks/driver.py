"""What the driver of a cluster costs: ``count`` on Dask and on Ray with one worker and with two, over many links to one text file.

Measured is the driver's own process: CPU seconds for each GB (beyond those of one file of 100 MB, which are those of importing and starting a
cluster), and peak memory. The scheduler of a
cluster that is started here lives in that process with Dask, so its share is in the figures. Equality: the digest of threads. It has no peer.
Ratio keys: ``dask_two_workers`` (against one), ``dask_driver_seconds_per_gb``, ``dask_driver_peak_mb``, the same for ``ray``, and ``driver_peak_mb_large``: the
peak while ``--large`` gigabytes are counted with two workers of Dask, where every count must be that of one file times the number of files.

``--only dask,large`` measures these again and takes the others from the record. The text is 100 MB on disk however many gigabytes there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, RECORDS, arguments, finish, show_table, today
from benchmarks.count_vs_counter import make_text

FILE_BYTES = 100_000_000

RUN = """
import json, sys, time
from samebits.machine.caps import cap_threads
cap_threads()
import samebits
if __name__ == "__main__":
    inputs, output, executor, workers = sys.argv[1:]
    started = time.process_time()
    options = samebits.RunOptions(executor=executor, workers=workers, overwrite=True, resume=False)
    record = samebits.run("count", samebits.CountConfig(inputs=(inputs,)), output=output, options=options)
    cpu = time.process_time() - started
    stages = {name: stage["seconds"] for name, stage in record.stages.items()}
    found = {"seconds": sum(stages.values()), "cpu": cpu, "peak": record.peak_rss["driver"], "stages": stages}
    print(json.dumps({**found, "digest": record.artifact_digest}))
"""


def make_links(folder: Path, number: int) -> Path:
    """Write one text, and link it under so many names."""
    text = folder / "text"
    if not text.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_text(text, FILE_BYTES)
    inputs = folder / f"inputs-{number}"
    inputs.mkdir(exist_ok=True)
    for name in range(number):
        if not (inputs / f"{name:04}.txt").exists():
            os.link(text, inputs / f"{name:04}.txt")
    return inputs


def run(inputs: Path, executor: str, workers: int) -> dict[str, Any]:
    """Run in a process of its own, whose CPU time and memory are the driver's alone."""
    script = inputs.parent / "run.py"  # worker processes import the main module again, so it must be a file
    script.write_text(RUN)
    command = [sys.executable, str(script), str(inputs), str(inputs.parent / "out"), executor, str(workers)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def measure_engine(executor: str, gigabytes: float, folder: Path) -> dict[str, Any]:
    """Run on one worker and on two; the digests of threads must be theirs."""
    start = run(make_links(folder, 1), executor, 2)
    inputs = make_links(folder, round(gigabytes * 10))
    one, two = (run(inputs, executor, workers) for workers in (1, 2))
    threads = run(inputs, "threads", 2)
    equal = len({found["digest"] for found in (one, two, threads)}) == 1
    return {
        "gigabytes": gigabytes,
        "start": start,
        "one": one,
        "two": two,
        "threads": threads,
        "equal": equal,
    }


def measure_large(gigabytes: float, folder: Path) -> dict[str, Any]:
    """Count a lot with two workers of Dask; counts must be those of one file, times their number."""
    number = round(gigabytes * 10)
    single = run(make_links(folder, 1), "threads", 1)
    expected = _counts(folder)
    many = run(make_links(folder, number), "dask", 2)
    found = _counts(folder)
    equal = found == {key: number * count for key, count in expected.items()}
    return {"gigabytes": gigabytes, "one": single, "two": many, "equal": equal}


def _counts(folder: Path) -> dict[str, int]:
    with (folder / "out" / "counts.jsonl").open() as lines:
        return {row["ngram"]: row["count"] for row in map(json.loads, lines)}


def main() -> None:
    """Measure and report; the stages' seconds count, not the start of a cluster."""
    options = arguments(__doc__.splitlines()[0], gigabytes=2.0, large=20.0, only="dask,ray,large")
    gigabytes, large = (0.3, 0.6) if options.quick else (options.gigabytes, options.large)
    before = RECORDS / "driver.json"
    cases: dict[str, Any] = json.loads(before.read_bytes())["details"]["cases"] if before.exists() else {}
    for name in options.only.split(","):
        folder = BENCH / "driver"
        found = measure_large(large, folder) if name == "large" else measure_engine(name, gigabytes, folder)
        cases[name] = {**found, "load_average": os.getloadavg()[0], "measured": today()}
    show_table(
        ["case", "GB", "workers", "s of stages", "CPU s of driver", "peak MB"],
        [
            [
                name,
                f"{case['gigabytes']:g}",
                workers,
                f"{each['seconds']:.2f}",
                f"{each['cpu']:.2f}",
                f"{each['peak'] / 1e6:.0f}",
            ]
            for name, case in cases.items()
            for workers, each in case.items()
            if isinstance(each, dict)
        ],
    )
    ratios = {}
    for name, case in cases.items():
        two = case["two"]
        if name == "large":
            ratios["driver_peak_mb_large"] = two["peak"] / 1e6
            continue
        ratios[f"{name}_two_workers"] = case["one"]["seconds"] / two["seconds"]
        more = case["gigabytes"] - FILE_BYTES / 1e9
        ratios[f"{name}_driver_seconds_per_gb"] = (two["cpu"] - case["start"]["cpu"]) / more
        ratios[f"{name}_driver_peak_mb"] = two["peak"] / 1e6
    equal = all(case["equal"] for case in cases.values())
    finish("driver", equal=equal, ratios=ratios, details={"cases": cases}, options=options)


if __name__ == "__main__":
    main()
