"""What the driver of a cluster costs: ``count`` on Dask with one worker and with two, over many links to one text file.

Measured is the driver's own process: CPU seconds for each GB, and peak memory. The scheduler of a
cluster that is started here lives in that process, so its share is in the figures. Equality: the digest of threads. It has no peer.
Ratio keys: ``dask_two_workers`` (against one), ``driver_seconds_per_gb``, ``driver_peak_mb``.

``--gigabytes 20`` takes twenty; the text is 100 MB on disk however many there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, arguments, finish, show_table
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


def main() -> None:
    """Measure and report; the stages' seconds count, not the start of a cluster."""
    options = arguments(__doc__.splitlines()[0], gigabytes=2.0, executor="dask")
    gigabytes = 0.3 if options.quick else options.gigabytes
    inputs = make_links(BENCH / "driver", round(gigabytes * 10))
    one, two = (run(inputs, options.executor, workers) for workers in (1, 2))
    threads = run(inputs, "threads", 2)
    rows = [
        [name, f"{found['seconds']:.2f}", f"{found['cpu']:.2f}", f"{found['peak'] / 1e6:.0f}"]
        for name, found in (("1 worker", one), ("2 workers", two), ("threads, 2", threads))
    ]
    show_table([f"{gigabytes:g} GB on {options.executor}", "s of stages", "CPU s of driver", "peak MB"], rows)
    ratios = {
        f"{options.executor}_two_workers": one["seconds"] / two["seconds"],
        "driver_seconds_per_gb": two["cpu"] / gigabytes,
        "driver_peak_mb": two["peak"] / 1e6,
    }
    equal = len({found["digest"] for found in (one, two, threads)}) == 1
    details = {"gigabytes": gigabytes, "one": one, "two": two, "threads": threads}
    finish("driver", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
