"""The promise, counted: parameters and optimizer state after 50 steps over worker counts and every way of training.

Columns are optimizer x dropout x classic or modern; rows are 1, 2, 3, 4 and 7 workers of 7 gradient shards, every instruction set of
this processor (``SAMEBITS_ISA``), and a run that goes half way with one number of workers and on with another. Each column must have
one sha256, here and on every other machine: the digests of this record are those to compare with.

``--only TEXT`` runs the columns whose name holds the text and keeps the others of the last record.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import RECORDS, arguments, finish, shared_data, show_table
from benchmarks.lm_vs_pytorch import ours, say
from samebits import arithmetic

NAME = "lm_bits"
TINY = {"layers": 2, "heads": 2, "dim": 32, "block": 16, "batch": 28, "shards": 7, "validate_every": 0}
WORKERS = (1, 2, 3, 4, 7)


def columns(*, quick: bool) -> list[dict[str, Any]]:
    """Return the settings of every column."""
    choices = itertools.product(("classic", "modern"), ("adamw", "muon"), (0.0, 0.1))
    found = [
        {"model": model, "optimizer": optimizer, "dropout": dropout} for model, optimizer, dropout in choices
    ]
    return [found[0], found[-1]] if quick else found


def label(column: dict[str, Any]) -> str:
    """Name a column."""
    return f"{column['model']} {column['optimizer']} dropout {column['dropout']}"


def main() -> None:
    """Run the grid."""
    options = arguments(__doc__ or "", only="")
    steps = 6 if options.quick else 50
    workers = (1, 2, 7) if options.quick else WORKERS
    data = shared_data() / "tinyshakespeare.txt"
    details = {} if options.quick else _kept()
    started = time.monotonic()
    for column in columns(quick=options.quick):
        if options.only not in label(column):
            continue
        settings = {**TINY, **column, "steps": steps, "tensorboard": False}
        found = {str(count): _digest(data, count, settings) for count in workers}
        found |= {isa: _digest(data, 2, settings, isa=isa) for isa in arithmetic.usable()}
        with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
            half: dict[str, Any] = {"folder": str(Path(folder) / "run"), "steps_now": steps // 2}
            ours(data, workers[1], settings, **half)
            found["resumed"] = _digest(data, workers[-1], settings, folder=half["folder"])
        details[label(column)] = found
        say(f"{label(column)}: {_verdict(found)}")
    rows = [(name, _verdict(found), found["1"][:16]) for name, found in sorted(details.items())]
    equal = all(verdict == "equal" for _, verdict, _ in rows)
    show_table(
        (
            "column",
            f"{len(workers)} worker counts, {len(arithmetic.usable())} instruction sets, a resume",
            "sha256",
        ),
        rows,
    )
    about: dict[str, Any] = {"steps": steps, "workers": list(workers), "columns": details, "settings": TINY}
    about["arithmetic"] = arithmetic.VERSION
    print(f"{len(rows)} columns in {time.monotonic() - started:.0f} s", file=sys.stderr)
    finish(NAME, equal=equal, ratios={}, details=about, options=options)


def _kept() -> dict[str, dict[str, str]]:
    """Return the columns of the last record."""
    path = RECORDS / f"{NAME}.json"
    if not path.exists():
        return {}
    details = json.loads(path.read_text(encoding="utf-8"))["details"]
    return dict(details["columns"]) if details.get("arithmetic") == arithmetic.VERSION else {}


def _verdict(found: dict[str, str]) -> str:
    return "equal" if len(set(found.values())) == 1 else "DIFFERENT"


def _digest(data: Path, workers: int, settings: dict[str, Any], **more: Any) -> str:
    return str(ours(data, workers, settings, **more)["digest"])


if __name__ == "__main__":
    main()
