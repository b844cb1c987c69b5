"""Peak memory of exact mode on 2,000,000 rows of the seed benchmark, with one worker and with two, and that both agree.

Ratio keys: ``one_worker`` and ``two_workers``: 2 GB by the peak of the process, so above 1 means within.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, arguments, finish, show_table
from samebits.bench.langid_data import write_seed_rows

LIMIT_BYTES = 2_000_000_000
NUM_ROWS = 2_000_000


def train(folder: Path, workers: int) -> dict[str, Any]:
    """Train in a process of its own; return its record."""
    output = folder / "model"
    command = [
        sys.executable,
        "-m",
        "samebits",
        "langid",
        "train",
        str(folder / "rows.jsonl"),
        "-o",
        str(output),
    ]
    subprocess.run([*command, "--mode", "exact", "-q", "-w", str(workers)], check=True)
    record: dict[str, Any] = json.loads((output / "record.json").read_bytes())
    shutil.rmtree(output)
    return record


def main() -> None:
    """Generate, train, report."""
    options = arguments(__doc__ or "")
    num_rows = NUM_ROWS // 20 if options.quick else NUM_ROWS
    BENCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        folder = Path(name)
        write_seed_rows(folder / "rows.jsonl", num_rows)
        records = {"one_worker": train(folder, 1), "two_workers": train(folder, 2)}
    peaks = {name: record["peak_rss"]["driver"] for name, record in records.items()}
    show_table(
        ["run", "peak", "seconds"],
        [
            [name, f"{peaks[name] / 1e6:,.0f} MB", f"{record['seconds']:.2f}"]
            for name, record in records.items()
        ],
    )
    finish(
        "langid_memory",
        equal=len({record["artifact_digest"] for record in records.values()}) == 1,
        ratios={name: LIMIT_BYTES / peak for name, peak in peaks.items()},
        details={
            "rows": num_rows,
            "peak_gigabytes": {name: peak / 1e9 for name, peak in peaks.items()},
            "limit_bytes": LIMIT_BYTES,
        },
        options=options,
    )


if __name__ == "__main__":
    main()
