"""Train the language model of the package again, by its documented command, and compare digests.

Says how long training takes and how much memory; ratio keys ``seconds`` and ``gigabytes``. ``--quick`` trains on every fortieth
row with one and with two workers and compares these with each other. ``--workers N`` is how many (2).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, finish, show_table
from benchmarks.langid_world import training_rows, world_rows
from samebits.data.artifact import open_artifact
from samebits.langid.model.default import default_folder

__all__ = ["main"]


def train(sources: list[Path], target: Path, *, workers: int) -> dict[str, Any]:
    """Train with the settings of the package's model in a process of its own."""
    settings = open_artifact(default_folder()).config
    command = [sys.executable, "-m", "samebits", "langid", "train", *map(str, sources), "-o", str(target)]
    command += ["--mode", "compact", "--megabytes", str(settings.get("megabytes", 15)), "--ledger", "none"]
    command += ["--source-column", "source", "--odds", ",".join(settings["odds"])]
    started = time.perf_counter()
    subprocess.run([*command, "-w", str(workers), "-q"], check=True)
    seconds = time.perf_counter() - started
    peak = max(json.loads((target / "record.json").read_bytes())["peak_rss"].values()) / 1e9
    return {"digest": open_artifact(target).digest, "seconds": seconds, "gigabytes": peak, "workers": workers}


def main() -> None:
    """Train, compare, record."""
    options = arguments(__doc__ or "", workers=2)
    with tempfile.TemporaryDirectory() as place:
        sources, expected = [training_rows()], open_artifact(default_folder()).digest
        if options.quick:
            sources = [Path(place) / "rows.jsonl"]
            with sources[0].open("w", encoding="utf-8") as file:
                for number, row in enumerate(world_rows()):
                    if number % 40 == 0:
                        file.write(json.dumps(row) + "\n")
            expected = train(sources, Path(place) / "one", workers=1)["digest"]
        found = train(sources, Path(place) / "model", workers=options.workers)
    equal = found["digest"] == expected
    rows = [[key, str(value)] for key, value in {**found, "expected": expected, "equal": equal}.items()]
    show_table(["", ""], rows)
    ratios = {"seconds": found["seconds"], "gigabytes": found["gigabytes"]}
    finish("langid_retrain", equal=equal, ratios=ratios, details=found, options=options)
    if not equal:
        sys.exit(1)


if __name__ == "__main__":
    main()
