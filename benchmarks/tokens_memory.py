"""Memory of a worker of ``tokens build`` on a 2 GB file, by executor; and that both give the same bytes.

The text is repeated until the file is large enough; what grows with a run is the encoder's cache, which sees all of the
text's words in the first round. Ratio keys: ``threads``, ``processes``: 300 MB by the measured memory of a worker, so above
1 means within. With threads, a worker's share is the whole process divided by the workers.
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
from benchmarks.tokens_data import text_jsonl

LIMIT_BYTES = 300_000_000
WORKERS = 2


def make_file(path: Path, num_bytes: int) -> None:
    """Write one round of text, and append it to itself until the file is large enough."""
    text_jsonl(path, min(num_bytes, 150_000_000))
    once = path.read_bytes()
    with path.open("ab") as file:
        while file.tell() < num_bytes:
            file.write(once)


def build(folder: Path, executor: str) -> dict[str, Any]:
    """Build in a process of its own; return its record."""
    output = folder / executor
    command = [
        sys.executable,
        "-m",
        "samebits",
        "tokens",
        "build",
        str(folder / "text.jsonl"),
        "-o",
        str(output),
    ]
    flags = ["-t", str(folder / "bpe"), "-w", str(WORKERS), "-x", executor, "-q"]
    subprocess.run([*command, *flags], check=True)
    record: dict[str, Any] = json.loads((output / "record.json").read_bytes())
    shutil.rmtree(output)
    return record


def main() -> None:
    """Generate, build by both executors, report."""
    options = arguments(__doc__.splitlines()[0])
    size = 60_000_000 if options.quick else 2_000_000_000
    BENCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        folder = Path(name)
        make_file(folder / "text.jsonl", size)
        train = ["tokens", "train-tokenizer", str(folder / "text.jsonl"), "-o", str(folder / "bpe"), "-q"]
        flags = ["--vocab-size", "32000", "--sample-mb", "10"]
        subprocess.run([sys.executable, "-m", "samebits", *train, *flags], check=True)
        records = {executor: build(folder, executor) for executor in ("threads", "processes")}
    peak = {
        "threads": records["threads"]["peak_rss"]["driver"] / WORKERS,
        "processes": records["processes"]["peak_rss"]["largest_child"],
    }
    show_table(
        ["executor", "MB per worker", "s"],
        [[n, f"{peak[n] / 1e6:.0f}", f"{records[n]['seconds']:.1f}"] for n in records],
    )
    equal = len({record["artifact_digest"] for record in records.values()}) == 1
    details = {
        "bytes": size,
        "workers": WORKERS,
        "bytes_per_worker": peak,
        "peak_rss": {n: record["peak_rss"] for n, record in records.items()},
    }
    ratios = {name: LIMIT_BYTES / value for name, value in peak.items()}
    finish("tokens_memory", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
