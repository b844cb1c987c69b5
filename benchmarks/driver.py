"""What the driver of a cluster costs: four jobs on Dask and on Ray with two workers, over many copies of generated files.

Measured is the driver's own process on a cluster at an address, whose scheduler is a process of its own: CPU seconds from the moment it
is connected to the end of the run, removal of the journal included. What grows are those of each GB beyond a first run on little input; ``whole`` are
those of all, divided by the GB; ``idle`` is what of them the process would take while nothing happens in it and both cores are busy. Further bytes of
what workers answer and of what they are sent, and peak memory. Equality: Dask and Ray give the same digest, on little input that of threads. It has no peer.
Ratio keys: ``driver_seconds_per_gb_count|tokens|charset|langid``, which grow, and the same with ``bytes``, ``whole`` and ``idle`` for ``seconds`` (the larger of both engines; each engine's with its
name in front), ``dask_two_workers`` (one against two, of a cluster started here, 2 GB counted), and ``driver_peak_mb_large``: the
peak while ``--large`` gigabytes are counted with two workers of Dask, where every count must be that of one file times the number of files.

``--only dask,large`` measures these again and takes the others from the record; ``--jobs count`` one job of an engine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, RECORDS, arguments, finish, show_table, today
from benchmarks.driver_cluster import cluster_of
from benchmarks.driver_data import inputs_of, tokenizer_of

# so much that what a run costs once is little of it, and no more than a minute of two workers
GIGABYTES = {"count": 16.0, "tokens": 6.0, "charset": 6.0, "langid": 2.0}
LITTLE = {"count": 0.1, "tokens": 0.13, "charset": 0.1, "langid": 0.3}  # langid: what is trained on workers
ENGINES = ("dask", "ray")
BURN = """
import numpy as np
a = np.arange(4_000_000, dtype=float)
while True:
    np.sqrt(a + 1.0, out=a)
"""

RUN = """
import json, os, pickle, shutil, sys, time
from samebits.machine.caps import cap_threads
cap_threads()
import samebits
from samebits import workers as front
from samebits.executors import make_executor
from samebits.jobs import get_job

job, inputs, output, executor, workers, address, tokenizer = sys.argv[1:]
moved = {"answers": 0, "published": 0}
connected = [0.0]

def counted_answer(data, shard, real=None):
    path, _ = pickle.loads(data)
    moved["answers"] += len(data) + (os.stat(path).st_size if path else 0)
    return real(data, shard)

def counted_state(value, real=None):
    data = real(value)
    moved["published"] += len(data)
    return data

def connect(name, options):
    made = make_executor(name, options)
    if name in ("dask", "ray"):
        from functools import partial
        from importlib import import_module
        flights = import_module("samebits.executors.cluster.in_flight")
        engine = import_module(f"samebits.executors.cluster.{name}")
        flights.open_answer = partial(counted_answer, real=flights.open_answer)
        flights.packed_state = engine.packed_state = partial(counted_state, real=flights.packed_state)
    connected[0] = time.process_time()
    return made

if __name__ == "__main__":
    front.make_executor = connect
    options = samebits.RunOptions(executor=executor, workers=workers, address=address, overwrite=True, resume=False)
    if job == "idle":
        made = connect(executor, front.ExecutorOptions(int(workers), address))
        started = time.process_time()
        time.sleep(30)  # three looks at the workers
        print(json.dumps({"cpu_per_second": (time.process_time() - started) / 30}))
        made.close()
        sys.exit()
    more = {"tokenizer": tokenizer} if tokenizer else {}
    config = get_job(job).Config(inputs=(inputs,), **more)
    shutil.rmtree(output, ignore_errors=True)  # removing an output of before is no cost of this run
    record = samebits.run(job, config, output=output, options=options)
    cpu = time.process_time() - connected[0]
    stages = {name: stage["seconds"] for name, stage in record.stages.items()}
    shards = sum(stage["shards_done"] for stage in record.stages.values())
    found = {"seconds": sum(stages.values()), "cpu": cpu, "peak": record.peak_rss["driver"], "stages": stages}
    print(json.dumps({**found, **moved, "tasks": shards, "digest": record.artifact_digest}))
"""


def run(
    job: str,
    inputs: Path,
    executor: str,
    workers: int,
    address: str = "",
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Run in a process of its own, whose CPU time and memory are the driver's alone."""
    folder = BENCH / "driver"
    script = folder / "run.py"  # worker processes import the main module again, so it must be a file
    script.write_text(RUN)
    tokenizer = str(tokenizer_of()) if job == "tokens" else ""
    words = (job, str(inputs), str(folder / "out"), executor, str(workers), address, tokenizer)
    done = subprocess.run(
        [sys.executable, str(script), *words], env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode(errors="replace"))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_engine(engine: str, jobs: list[str], sizes: dict[str, float], folder: Path) -> dict[str, Any]:
    """Run jobs on a cluster of two workers at an address, each on little input and on much."""
    found: dict[str, Any] = {}
    for job in jobs:  # before anything is measured
        for size in (LITTLE[job], sizes[job]):
            inputs_of(job, folder, size)
    with cluster_of(engine, folder) as (address, environment):
        with busy_cores():
            idle = run("idle", folder, engine, 2, address, environment)["cpu_per_second"]
        for job in jobs:
            little, much = (inputs_of(job, folder, size) for size in (LITTLE[job], sizes[job]))
            start = run(job, little, engine, 2, address, environment)
            whole = run(job, much, engine, 2, address, environment)
            found[job] = {
                "gigabytes": num_gigabytes(much),
                "more": num_gigabytes(much) - num_gigabytes(little),
                "idle": idle,
                "start": start,
                "two": whole,
                "load_average": os.getloadavg()[0],
                "measured": today(),
            }
    for job in jobs:
        little = inputs_of(job, folder, LITTLE[job])
        found[job]["equal"] = run(job, little, "threads", 2)["digest"] == found[job]["start"]["digest"]
    return found


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep both cores and their caches busy, as workers do: a process that wakes up now and then takes twice as long for it."""
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(2)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def num_gigabytes(inputs: Path) -> float:
    """Return the size of all files of a folder."""
    return sum(path.stat().st_size for path in inputs.rglob("*") if path.is_file()) / 1e9


def measure_two(gigabytes: float, rounds: int, folder: Path) -> dict[str, Any]:
    """Count on one worker and on two of a cluster of Dask that the run starts, in turn; the stages' seconds count."""
    inputs = inputs_of("count", folder, gigabytes)
    sides: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, found in sides.items():
            found.append(run("count", inputs, "dask", workers))
    digests = {each["digest"] for found in sides.values() for each in found}
    seconds = {str(workers): [each["seconds"] for each in found] for workers, found in sides.items()}
    load = {"load_average": os.getloadavg()[0], "measured": today()}
    return {"gigabytes": gigabytes, "seconds": seconds, "equal": len(digests) == 1, **load}


def measure_large(gigabytes: float, folder: Path) -> dict[str, Any]:
    """Count a lot with two workers of Dask; counts must be those of one file, times their number."""
    number = round(gigabytes * 10)
    single = run("count", inputs_of("count", folder, 0.1), "threads", 1)
    expected = _counts(folder)
    many = run("count", inputs_of("count", folder, gigabytes), "dask", 2)
    equal = _counts(folder) == {key: number * count for key, count in expected.items()}
    load = {"load_average": os.getloadavg()[0], "measured": today()}
    return {"gigabytes": gigabytes, "one": single, "two": many, "equal": equal, **load}


def _counts(folder: Path) -> dict[str, int]:
    with (folder / "out" / "counts.jsonl").open() as lines:
        return {row["ngram"]: row["count"] for row in map(json.loads, lines)}


def main() -> None:
    """Measure and report."""
    options = arguments(
        __doc__.splitlines()[0],
        large=20.0,
        only="dask,ray,two,large",
        jobs=",".join(GIGABYTES),
    )
    share = 0.1 if options.quick else 1.0
    folder = BENCH / "driver"
    folder.mkdir(parents=True, exist_ok=True)
    before = RECORDS / "driver.json"
    cases: dict[str, Any] = json.loads(before.read_bytes())["details"]["cases"] if before.exists() else {}
    for engine in ENGINES:  # records of before 0.2 have other cases
        cases[engine] = {job: cases[engine][job] for job in GIGABYTES if job in cases.get(engine, {})}
    for name in options.only.split(","):
        if name in ENGINES:
            sizes = {job: max(2 * LITTLE[job], share * size) for job, size in GIGABYTES.items()}
            cases[name] = cases.get(name, {}) | measure_engine(name, options.jobs.split(","), sizes, folder)
        elif name == "two":
            cases[name] = measure_two(2.0 * share, options.rounds, folder)
        else:
            cases[name] = measure_large(options.large * share, folder)
    show_table(
        [
            "engine",
            "job",
            "GB",
            "tasks",
            "s",
            "CPU s",
            "grows by a GB",
            "whole a GB",
            "idle a GB",
            "kB a GB",
            "MB",
        ],
        [
            [
                engine,
                job,
                f"{case['gigabytes']:.2f}",
                f"{case['two']['tasks']:.0f}",
                f"{case['two']['seconds']:.1f}",
                f"{case['two']['cpu']:.3f}",
                f"{seconds_per_gb(case):.4f}",
                f"{whole_per_gb(case):.4f}",
                f"{idle_per_gb(case):.4f}",
                f"{bytes_per_gb(case) / 1e3:.0f}",
                f"{case['two']['peak'] / 1e6:.0f}",
            ]
            for engine in ENGINES
            for job, case in cases.get(engine, {}).items()
        ],
    )
    details = {"cases": cases}
    finish("driver", equal=is_equal(cases), ratios=ratios_of(cases), details=details, options=options)


def seconds_per_gb(case: dict[str, Any]) -> float:
    """Return the driver's CPU seconds for each GB beyond the first run."""
    return float((case["two"]["cpu"] - case["start"]["cpu"]) / case["more"])


def bytes_per_gb(case: dict[str, Any]) -> float:
    """Return the bytes that come from workers and go to them, for each GB beyond the first run: a model has its size once."""
    moved = [case[name]["answers"] + case[name]["published"] for name in ("start", "two")]
    return float((moved[1] - moved[0]) / case["more"])


def whole_per_gb(case: dict[str, Any]) -> float:
    """Return the driver's CPU seconds of the whole run, for each GB."""
    return float(case["two"]["cpu"] / case["gigabytes"])


def idle_per_gb(case: dict[str, Any]) -> float:
    """Return the CPU seconds that the driver would take for each GB if it did nothing for as long as the run took longer."""
    return float(case["idle"] * (case["two"]["seconds"] - case["start"]["seconds"]) / case["more"])


def ratios_of(cases: dict[str, Any]) -> dict[str, float]:
    """Return all figures by their keys."""
    ratios: dict[str, float] = {}
    for engine in ENGINES:
        for job, case in cases.get(engine, {}).items():
            figures = {
                "seconds": seconds_per_gb,
                "whole": whole_per_gb,
                "idle": idle_per_gb,
                "bytes": bytes_per_gb,
            }
            for key, per_gb in figures.items():
                name, value = f"driver_{key}_per_gb_{job}", per_gb(case)
                ratios[f"{engine}_{name}"] = value
                ratios[name] = max(value, ratios.get(name, value))
        peaks = [case["two"]["peak"] for case in cases.get(engine, {}).values()]
        if peaks:
            ratios[f"{engine}_driver_peak_mb"] = max(peaks) / 1e6
    if "two" in cases:
        one, two = (statistics.median(cases["two"]["seconds"][workers]) for workers in "12")
        ratios["dask_two_workers"] = one / two
    if "large" in cases:
        ratios["driver_peak_mb_large"] = cases["large"]["two"]["peak"] / 1e6
    return ratios


def is_equal(cases: dict[str, Any]) -> bool:
    """Say whether all digests agree that must."""
    by_engine = [cases[engine] for engine in ENGINES if engine in cases]
    found = [case["equal"] for jobs in by_engine for case in jobs.values()]
    found += [cases[name]["equal"] for name in ("two", "large") if name in cases]
    for job in GIGABYTES:
        same = [jobs[job] for jobs in by_engine if job in jobs]
        found.append(len({(case["gigabytes"], case["two"]["digest"]) for case in same}) <= 1)
    return all(found)


if __name__ == "__main__":
    main()
