"""How much faster more workers are: interleaved repeats, medians, efficiency, peak memory, and Amdahl's law.

Runs are interleaved (1, 2, 4, 1, 2, 4, ...) so that a machine that slows down meanwhile slows all of them. Amdahl's law
says ``1/S = f + (1 - f)/w`` for the serial share ``f``; the fit gives ``f`` and with it a forecast for more workers.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from samebits import api
from samebits.bench.cell import Cell, run_cell, scratch_folder
from samebits.core.config import make_config
from samebits.core.observing.amdahl import fit_amdahl
from samebits.errors import ConfigError, ParityError
from samebits.jobs import get_job

__all__ = ["SpeedupReport", "SpeedupRow", "measure_speedup", "tabulate"]

LARGEST_CELL_MIB = 8  # no job cuts lines of text into larger shards


@dataclass(frozen=True, slots=True)
class SpeedupRow:
    """One worker count."""

    workers: int
    seconds: float
    fastest: float
    slowest: float
    speedup: float
    efficiency: float
    peak_rss: int


@dataclass(frozen=True, slots=True)
class SpeedupReport:
    """All worker counts of one job on one input."""

    job: str
    executor: str
    rows: list[SpeedupRow]
    serial_share: float
    digest: str
    records: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return asdict(self)

    def forecast(self, workers: int) -> float:
        """Return the speed-up that Amdahl's law expects."""
        return 1 / (self.serial_share + (1 - self.serial_share) / workers)


def measure_speedup(
    job: str,
    config: dict[str, Any],
    *,
    executor: str,
    worker_counts: Sequence[int],
    repeats: int,
    tell: Callable[[str], None],
) -> SpeedupReport:
    """Measure every worker count ``repeats`` times, interleaved.

    Raises:
        ParityError: if two runs differ: speed of a wrong result is worth nothing.
    """
    _refuse_too_few_shards(job, config, max(worker_counts))
    records: list[dict[str, Any]] = []
    with scratch_folder() as scratch:
        for repeat in range(repeats):
            for workers in worker_counts:
                tell(f"round {repeat + 1} of {repeats}, {workers} worker{'' if workers == 1 else 's'}")
                output = Path(scratch) / f"{repeat}-{workers}"
                records.append(run_cell(job, config, Cell(executor, workers), output))
    digests = {record["artifact_digest"] for record in records}
    if len(digests) != 1:
        raise ParityError(
            f"{len(digests)} different digests over {len(records)} runs", hint="samebits bench parity"
        )
    rows = tabulate(records)
    points = [(row.workers, row.speedup) for row in rows]
    return SpeedupReport(job, executor, rows, fit_amdahl(points), digests.pop(), records)


def _refuse_too_few_shards(name: str, config: dict[str, Any], most: int) -> None:
    """A worker needs a shard of its own: with fewer there is nothing to compare."""
    job = get_job(name)
    if job.default_executor == "lockstep":
        return
    shards = api.plan(job, make_config(job.Config, config)).shards
    if len(shards) < most:
        have = "1 shard" if len(shards) == 1 else f"{len(shards)} shards"
        raise ConfigError(
            f"the input makes {have}, too few for {most} workers to compare", hint=_more(name, most)
        )


def _more(job: str, most: int) -> str:
    """Say how much more is needed: a shard of its own for every worker."""
    if job.startswith("graph"):
        return "every worker needs a shard of its own, about 0.1 s of work: give more graphs"
    size = (most - 1) * LARGEST_CELL_MIB
    return f"every worker needs a shard of its own: give {most} files or more, or an uncompressed one of more than {size} MiB"


def tabulate(records: Sequence[dict[str, Any]]) -> list[SpeedupRow]:
    """Return a row for each worker count; the smallest count is the base and taken as fully efficient."""
    by_workers: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        by_workers.setdefault(record["workers"], []).append(record)
    counts = sorted(by_workers)
    base = statistics.median(record["seconds"] for record in by_workers[counts[0]])
    return [_row(count, by_workers[count], base * counts[0]) for count in counts]


def _row(workers: int, records: list[dict[str, Any]], one_worker_seconds: float) -> SpeedupRow:
    seconds = [record["seconds"] for record in records]
    median = statistics.median(seconds)
    speedup = one_worker_seconds / median
    peak = max(
        record["peak_rss"]["driver"] + record["peak_rss"]["largest_child"] * workers for record in records
    )
    return SpeedupRow(workers, median, min(seconds), max(seconds), speedup, speedup / workers, peak)
