"""What each place costs: the same stage of trivial shards, and the same job, on threads, processes, Dask and Ray.

It has no peer. ``equal`` says that every place gave the digest of the serial run. The ratios are the limit over what was
measured, so 1 or more keeps the promise: ``dask`` and ``ray`` (5 ms a shard each, 2 workers). Short shards travel to Dask in
groups, so shards of 25 ms, which do not, are measured too: what each takes above its share of the sleep. Start-up (from
nothing to the first finished shard) and the whole job are in the record, so that users can choose.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, finish, show_table
from benchmarks.engine_data import Nothing, Sleep
from samebits.api import run
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import cut
from samebits.core.ports.executor import Executor, Task
from samebits.count.config import CountConfig
from samebits.executors import ExecutorOptions, make_executor

WORKERS = 2
PLACES = ("threads", "processes", "dask", "ray")
LIMITS = {"dask": 5e-3, "ray": 5e-3}
LONG_SECONDS = 0.025


def stage(executor: Executor, num_shards: int, task: Task | None = None) -> tuple[float, str]:
    """Run trivial shards; return seconds a shard and the digest of all parts."""
    started = time.perf_counter()
    parts = [
        part
        for _, part in Engine(executor).map_ordered(
            "s", task or Nothing(), cut([num_shards], 1), unit="items"
        )
    ]
    return (time.perf_counter() - started) / num_shards, digest_of(parts)


def job(executor: Executor, corpus: Path, folder: Path) -> tuple[float, str]:
    """Count a corpus; return seconds and the digest of the artifact."""
    started = time.perf_counter()
    record = run("count", CountConfig(inputs=(str(corpus),)), output=folder, executor=executor)
    return time.perf_counter() - started, record.artifact_digest


def write_corpus(path: Path, megabytes: int) -> None:
    """Write words in a fixed order: many shards of 8 MiB, cheap to make."""
    line = " ".join(f"word{i % 977} and{i % 31}" for i in range(400)) + "\n"
    path.write_text(line * (megabytes * 1_000_000 // len(line)))


def measure(rounds: int, num_shards: int, corpus: Path, scratch: Path) -> tuple[dict[str, Any], bool]:
    """Start every place, then run the sides in turns, round after round."""
    serial = make_executor("serial", ExecutorOptions())
    wanted = (stage(serial, num_shards)[1], job(serial, corpus, scratch / "serial")[1])
    places: dict[str, Executor] = {}
    found: dict[str, dict[str, Any]] = {
        name: {"a_shard": [], "a_long_shard": [], "job": []} for name in PLACES
    }
    for name in PLACES:
        started = time.perf_counter()
        places[name] = make_executor(name, ExecutorOptions(WORKERS))
        stage(places[name], 2 * WORKERS)
        found[name]["start"] = time.perf_counter() - started
    equal = True
    for number in range(rounds):
        for name, executor in places.items():
            seconds, digest = stage(executor, num_shards)
            long_seconds, _ = stage(executor, num_shards // 5, Sleep(LONG_SECONDS))
            job_seconds, job_digest = job(executor, corpus, scratch / f"{name}-{number}")
            found[name]["a_shard"].append(seconds)
            found[name]["a_long_shard"].append(long_seconds - LONG_SECONDS / WORKERS)
            found[name]["job"].append(job_seconds)
            equal = equal and (digest, job_digest) == wanted
    for executor in places.values():
        executor.close()
    return found, equal


def main() -> None:
    """Measure, compare with the limits, report."""
    options = arguments(__doc__.splitlines()[0])
    num_shards, megabytes = (200, 24) if options.quick else (500, 60)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        write_corpus(corpus, megabytes)
        found, equal = measure(options.rounds, num_shards, corpus, Path(folder))
    median = {
        name: {
            key: statistics.median(value) if isinstance(value, list) else value for key, value in row.items()
        }
        for name, row in found.items()
    }
    rows = [
        [
            name,
            f"{row['start']:.2f} s",
            f"{row['a_shard'] * 1e3:.3f} ms",
            f"{row['a_long_shard'] * 1e3:.3f} ms",
            f"{row['job']:.2f} s",
        ]
        for name, row in median.items()
    ]
    show_table(["place", "start-up", "a trivial shard", "a shard of 25 ms", f"count {megabytes} MB"], rows)
    print(f"equal: {equal}")
    details = {
        "median_seconds": median,
        "rounds": options.rounds,
        "shards": num_shards,
        "megabytes": megabytes,
        "workers": WORKERS,
        "load_average": os.getloadavg()[0],  # above 2 or so, others were at work on this machine too
    }
    ratios = {name: limit / median[name]["a_shard"] for name, limit in LIMITS.items()}
    finish("executors", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
