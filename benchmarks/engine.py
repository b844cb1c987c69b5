"""What the engine itself costs: time a shard, time to plan, memory when the first shard is slow.

It has no peer. ``equal`` says that all executors gave the digest of the serial one. The ratios are the limit over what
was measured, so 1 or more keeps the promise: ``threads`` (100 µs a shard), ``threads_journal`` (200 µs, with the journal on
disk), ``processes`` (1 ms), ``plan`` (1,000,000 shards in 2 s), ``slow_shard_memory`` (three windows of parts: one is
held, the rest is what the allocator keeps).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.common import arguments, finish, show_table
from benchmarks.engine_data import LargePart, Nothing
from samebits.core.digest import digest_of
from samebits.core.engine import WINDOW_PER_WORKER, Engine
from samebits.core.plan import Plan, ShardTable, cut
from samebits.core.ports.executor import Executor
from samebits.core.ports.store import NoStore, PartStore
from samebits.data.journal import Journal
from samebits.executors import ExecutorOptions, make_executor

WORKERS = 2
LIMITS = {"threads": 100e-6, "threads_journal": 200e-6, "processes": 1e-3, "plan": 2.0}
PART_BYTES = 4_000_000
NUM_LARGE = 200

MEMORY = """
import re, sys
from pathlib import Path
from benchmarks.engine import large_parts
large_parts(int(sys.argv[1]), float(sys.argv[2]))
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
"""  # not ru_maxrss: a child starts with the peak of the process that started it


def plan_of(shards: ShardTable) -> Plan:
    """Return a plan around shards."""
    return Plan(
        job="engine",
        version=1,
        seed=0,
        config_digest="none",
        input_digest="none",
        source_names=("source",),
        shards=shards,
    )


def plan_seconds(num_shards: int) -> float:
    """Cut and digest a plan of three sources."""
    started = time.perf_counter()
    sizes = (
        np.array([num_shards // 2, num_shards // 4, num_shards - num_shards // 2 - num_shards // 4]) * 1000
    )
    planned = plan_of(cut(sizes, 1000))
    assert len(planned.shards) == num_shards
    assert planned.digest
    return time.perf_counter() - started


def stage_seconds(executor: Executor, shards: ShardTable, store: PartStore) -> tuple[float, str]:
    """Run one stage of trivial shards; return seconds and the digest of all parts."""
    started = time.perf_counter()
    parts = [
        part for _, part in Engine(executor, store=store).map_ordered("s", Nothing(), shards, unit="items")
    ]
    return time.perf_counter() - started, digest_of(parts)


def journal_seconds(executor: Executor, shards: ShardTable) -> tuple[float, str]:
    """Do the same with a journal on disk."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal", plan_of(shards), resume=False)
        try:
            return stage_seconds(executor, shards, journal)
        finally:
            journal.close()


def measure(rounds: int, num_shards: dict[str, int]) -> tuple[dict[str, list[float]], bool]:
    """Return seconds a shard of every side and round, interleaved, and whether all digests are the serial ones."""
    tables = {name: cut([number], 1) for name, number in num_shards.items()}
    serial = make_executor("serial", ExecutorOptions())
    wanted = {name: stage_seconds(serial, table, NoStore())[1] for name, table in tables.items()}
    threads = make_executor("threads", ExecutorOptions(WORKERS))
    processes = make_executor("processes", ExecutorOptions(WORKERS))
    sides: dict[str, Callable[[], tuple[float, str]]] = {
        "threads": lambda: stage_seconds(threads, tables["threads"], NoStore()),
        "threads_journal": lambda: journal_seconds(threads, tables["threads_journal"]),
        "processes": lambda: stage_seconds(processes, tables["processes"], NoStore()),
    }
    stage_seconds(processes, cut([100], 1), NoStore())  # starting the workers is not a cost of a shard
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    equal = True
    for _ in range(rounds):
        for name, side in sides.items():
            taken, digest = side()
            seconds[name].append(taken / num_shards[name])
            equal = equal and digest == wanted[name]
    threads.close()
    processes.close()
    return seconds, equal


def large_parts(num_bytes: int, first_seconds: float) -> None:
    """Run shards with parts of this size on threads and drop each part as it comes."""
    executor = make_executor("threads", ExecutorOptions(WORKERS))
    task = LargePart(num_bytes, first_seconds)
    for _ in Engine(executor).map_ordered("s", task, cut([NUM_LARGE], 1), unit="items"):
        pass
    executor.close()


def peak_bytes(num_bytes: int, first_seconds: float) -> int:
    """Return the peak memory of such a run in a process of its own."""
    command = [sys.executable, "-c", MEMORY, str(num_bytes), str(first_seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


def main() -> None:
    """Measure, compare with the limits, report."""
    options = arguments(__doc__.splitlines()[0])
    many, few = (20_000, 3_000) if options.quick else (100_000, 20_000)
    seconds, equal = measure(options.rounds, {"threads": many, "threads_journal": many, "processes": few})
    seconds["plan"] = [plan_seconds(1_000_000) for _ in range(options.rounds)]
    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    bare, even, slow = peak_bytes(1, 0.0), peak_bytes(PART_BYTES, 0.0), peak_bytes(PART_BYTES, 2.0)
    window_bytes = WINDOW_PER_WORKER * WORKERS * PART_BYTES
    ratios = {name: LIMITS[name] / median[name] for name in LIMITS}
    ratios["slow_shard_memory"] = 3 * window_bytes / max(1, slow - bare)
    rows = [
        [name, f"{median[name] * 1e6:,.1f} µs", f"{limit * 1e6:,.0f} µs", f"{ratios[name]:.1f}x"]
        for name, limit in LIMITS.items()
    ]
    extra = f"{(slow - bare) / 1e6:.0f} MB of {NUM_LARGE * PART_BYTES / 1e6:.0f}"
    rows.append(
        ["slow first shard", extra, f"{3 * window_bytes / 1e6:.0f} MB", f"{ratios['slow_shard_memory']:.1f}x"]
    )
    show_table(["side", "a shard (plan: in all)", "limit", "room"], rows)
    print(f"equal: {equal}")
    details = {
        "median_seconds": median,
        "rounds": options.rounds,
        "shards": {"threads": many, "processes": few, "plan": 1_000_000},
        "peak_bytes": {"without_parts": bare, "even": even, "first_shard_slow": slow, "window": window_bytes},
        "workers": WORKERS,
        "load_average": os.getloadavg()[0],  # above 2 or so, others were at work on this machine too
    }
    finish("engine", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
