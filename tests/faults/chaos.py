"""Play the whole fault table and print it: ``python -m tests.faults.chaos [--record FILE] [words of a case's name]``.

``--record`` writes the rows played into a JSON file, beside the rows of other cases that it holds already, with sums. Ends with exit code 1 if anything hung, was lost or ended otherwise than it must.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.faults.cases import CASES, Case, can_mount
from tests.faults.scene import Ending, play

from samebits.core.digest import canonical_json

COLUMNS = ("case", "tries", "faults", "same digest", "named error", "hung", "lost", "seconds")


def main(words: list[str]) -> int:
    """Play the chosen cases."""
    record = None
    if words[:1] == ["--record"]:
        record, words = Path(words[1]), words[2:]
    chosen = [case for case in CASES if all(word in case.name for word in words)]
    widths = (max((len(case.name) for case in chosen), default=4), 5, 6, 11, 11, 4, 4, 7)
    show(COLUMNS, widths)
    wrong: list[str] = []
    mounting = can_mount()
    for case in chosen:
        if case.mounts and not mounting:
            show((case.name, "skipped: needs root to mount a small disk"), widths)
            continue
        started = time.monotonic()
        endings = [play(case.play, seed, case.executor) for seed in range(case.tries)]
        wrong += [f"{case.name}, try {i}: {e.detail}" for i, e in enumerate(endings) if is_wrong(case, e)]
        counts = [sum(e.verdict == verdict for e in endings) for verdict in ("same", "named", "hung", "lost")]
        seconds = f"{time.monotonic() - started:.1f}"
        faults = sum(ending.faults for ending in endings)
        show((case.name, str(case.tries), str(faults), *map(str, counts), seconds), widths)
        if record is not None:
            keep(record, case.name, dict(zip(COLUMNS[1:-1], (case.tries, faults, *counts), strict=True)))
    for line in wrong:
        sys.stdout.write(f"WRONG {line}\n")
    return 1 if wrong else 0


def keep(record: Path, name: str, row: dict[str, int]) -> None:
    """Put one row into the record and add all rows up."""
    rows = json.loads(record.read_bytes())["cases"] if record.exists() else {}
    rows[name] = row
    total = {column: sum(other[column] for other in rows.values()) for column in row}
    record.write_bytes(canonical_json({"name": "chaos", "cases": rows, "total": total}))


def is_wrong(case: Case, ending: Ending) -> bool:
    """Tell whether a run ended otherwise than it must."""
    if case.either and ending.verdict == "named":
        return not ending.detail.startswith("WorkerLost") or ending.faults == 0
    return ending.verdict != case.wanted


def show(cells: tuple[str, ...], widths: tuple[int, ...]) -> None:
    """Print one line at once: a case may take a while."""
    line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False))
    sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
