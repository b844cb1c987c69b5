"""What every benchmark shares: arguments, a place for peers, interleaved timing, tables, records.

A benchmark checks equality first, then times both sides interleaved over several rounds and compares medians, so that a
machine that slows down meanwhile slows both. ``--json`` prints one JSON object as the last line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.core.digest import canonical_json
from samebits.machine.environment import fingerprint

__all__ = [
    "BENCH",
    "RECORDS",
    "REPO",
    "Timing",
    "arguments",
    "finish",
    "interleave",
    "peer_python",
    "shared_data",
    "show_table",
    "today",
]

REPO = Path(__file__).resolve().parent.parent
RECORDS = REPO / "benchmarks" / "records"
BENCH = REPO / ".bench"


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall and CPU seconds of all rounds of one side."""

    wall: list[float]
    cpu: list[float]

    @property
    def median(self) -> float:
        """Median wall seconds."""
        return statistics.median(self.wall)


def arguments(description: str, **extra: Any) -> argparse.Namespace:
    """Parse ``--quick``, ``--json``, ``--rounds`` and what the benchmark adds (name=default)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--rounds", type=int, default=0, help="rounds of measurement (default: 5, quick 3)")
    for name, default in extra.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    parsed = parser.parse_args()
    parsed.rounds = parsed.rounds or (3 if parsed.quick else 5)
    return parsed


def interleave(sides: Mapping[str, Callable[[], Any]], *, rounds: int) -> dict[str, Timing]:
    """Time every side once a round, round after round."""
    timings = {name: Timing([], []) for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            side()
            timings[name].wall.append(time.perf_counter() - wall)
            timings[name].cpu.append(time.process_time() - cpu)
    return timings


def peer_python(name: str, packages: Sequence[str]) -> Path:
    """Return the Python of a peer's own environment under ``.bench``, made when it is missing or asks for more."""
    folder = BENCH / name
    python = folder / "bin" / "python"
    wanted = "\n".join(packages)
    stamp = folder / "packages.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted)
    return python


def shared_data() -> Path:
    """Return the folder of real text outside the repository, or stop with the reason."""
    import os

    folder = Path(os.environ.get("SAMEBITS_SHARED_DATA", REPO.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"no shared data at {folder}; set SAMEBITS_SHARED_DATA to its folder")
    return folder


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with aligned columns."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def today() -> str:
    """Return the day of a measurement, as records hold it; parts that are measured on their own carry their own day."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def finish(
    name: str,
    *,
    equal: bool,
    ratios: Mapping[str, float],
    details: Mapping[str, Any],
    options: argparse.Namespace,
) -> None:
    """Write the record (full runs only, so that a quick run never replaces measured figures) and end."""
    rounded = {key: round(value, 3) for key, value in ratios.items()}
    record = {
        "name": name,
        "equal": equal,
        "ratios": rounded,
        "details": details,
        "environment": fingerprint(),
        "measured": today(),
    }
    path = RECORDS / f"{name}.json"
    if options.quick:
        path = BENCH / f"{name}-quick.json"
        path.parent.mkdir(exist_ok=True)
    path.write_bytes(canonical_json(record))
    if options.json:
        where = path.relative_to(REPO).as_posix()
        print(json.dumps({"name": name, "equal": equal, "ratios": rounded, "record": where}))
    sys.exit(0 if equal else 3)
