"""The promise, counted: parameters and optimizer state after 50 steps over worker counts and every way of training.

Columns are optimizer x dropout x eager or compiled x classic or modern; rows are 1, 2, 3, 4 and 7 workers of 7 gradient shards. Each
column must have one sha256. Then every column is run half way with one number of workers and on with another.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, arguments, finish, shared_data, show_table
from benchmarks.lm_vs_pytorch import ours, say

NAME = "lm_bits"
TINY = {"layers": 2, "heads": 2, "dim": 32, "block": 16, "batch": 28, "shards": 7, "validate_every": 0}
WORKERS = (1, 2, 3, 4, 7)


def columns(*, quick: bool) -> list[dict[str, Any]]:
    """Return the settings of every column."""
    choices = itertools.product(("classic", "modern"), ("adamw", "muon"), (0.0, 0.1), (False, True))
    found = [
        {"model": model, "optimizer": optimizer, "dropout": dropout, "compile": compiled}
        for model, optimizer, dropout, compiled in choices
    ]
    return [found[0], found[14]] if quick else found


def label(column: dict[str, Any]) -> str:
    """Name a column."""
    kind = "compiled" if column["compile"] else "eager"
    return f"{column['model']} {column['optimizer']} dropout {column['dropout']} {kind}"


def main() -> None:
    """Run the grid."""
    options = arguments(__doc__ or "")
    steps = 6 if options.quick else 50
    workers = (1, 2, 7) if options.quick else WORKERS
    data = shared_data() / "tinyshakespeare.txt"
    rows, details, equal = [], {}, True
    started = time.monotonic()
    for column in columns(quick=options.quick):
        settings = {**TINY, **column, "steps": steps, "tensorboard": False}
        cache = str(BENCH / "compiled" / label(column).replace(" ", "-"))
        found = {str(count): _digest(data, count, settings, cache=cache) for count in workers}
        with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
            half = {"folder": str(Path(folder) / "run"), "steps_now": steps // 2, "cache": cache}
            ours(data, workers[1], settings, **half)
            found["resumed"] = _digest(data, workers[-1], settings, folder=half["folder"], cache=cache)
        same = len(set(found.values())) == 1
        equal &= same
        details[label(column)] = found
        rows.append((label(column), "equal" if same else "DIFFERENT", found["1"][:16]))
        say(f"{label(column)}: {'equal' if same else 'DIFFERENT'}")
    show_table(("column", f"{len(workers)} worker counts and a resume", "sha256"), rows)
    about: dict[str, Any] = {"steps": steps, "workers": list(workers), "columns": details, "settings": TINY}
    print(f"{len(rows)} columns in {time.monotonic() - started:.0f} s", file=sys.stderr)
    finish(NAME, equal=equal, ratios={}, details=about, options=options)


def _digest(data: Path, workers: int, settings: dict[str, Any], **more: Any) -> str:
    return str(ours(data, workers, settings, **more)["digest"])


if __name__ == "__main__":
    main()
