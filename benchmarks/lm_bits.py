"""The promise, counted: parameters and optimizer state after 50 steps, over every place and every way of training.

Columns are optimizer x dropout x classic or modern. Rows are 1, 2, 3, 4 and 7 workers of 7 gradient shards; every instruction set of
this processor (``SAMEBITS_ISA``); a run that goes half way with one number of workers and on with another; the floating-point
modules compiled by gcc and clang with -O1 and -O3; a library that makes the processor flush small numbers; the oldest NumPy;
and, for 20 steps beside 20 steps here, an ARM processor under qemu-user. Each column must have one sha256, here and on every other
machine: the digests of this record are those to compare with.

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
from benchmarks.lm_places import ARM, Place, arm_place, places
from benchmarks.lm_sides import ours, say
from samebits import arithmetic

NAME = "lm_bits"
TINY = {"layers": 2, "heads": 2, "width": 32, "block": 16, "batch": 28, "shards": 7, "validate_every": 0}
WORKERS = (1, 2, 3, 4, 7)
ARM_STEPS = 20
HERE = Place()
PATIENT = {"place": {"stall_timeout": 900.0}}  # an emulated Python takes long to start
Row = dict[str, str]  # place -> sha256


def columns(*, quick: bool) -> list[dict[str, Any]]:
    """Return the settings of every column."""
    choices = itertools.product(("classic", "modern"), ("adamw", "muon"), (0.0, 0.1))
    found = [
        {"kind": kind, "optimizer": optimizer, "dropout": dropout} for kind, optimizer, dropout in choices
    ]
    return [found[0], found[-1]] if quick else found


def label(column: dict[str, Any]) -> str:
    """Name a column."""
    return f"{column['kind']} {column['optimizer']} dropout {column['dropout']}"


def main() -> None:
    """Run the grid."""
    options = arguments(__doc__ or "", only="")
    steps, workers = (6, (1, 2, 7)) if options.quick else (50, WORKERS)
    data = shared_data() / "tinyshakespeare.txt"
    grid, arm_grid = ({}, {}) if options.quick else (_kept("columns"), _kept("aarch64"))
    chosen = [column for column in columns(quick=options.quick) if options.only in label(column)]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
        others = {} if options.quick else dict(places(Path(folder)))
        for column in chosen:
            settings = {**TINY, **column, "steps": steps, "tensorboard": False}
            found = grid[label(column)] = _column(data, workers, settings, others)
            say(f"{label(column)}: {_verdict(found)}")
    arm = None if options.quick else arm_place()
    for column in chosen if arm else ():
        settings = {**TINY, **column, "steps": ARM_STEPS, "tensorboard": False}
        assert arm is not None
        found = {"here": _digest(data, 2, settings), ARM: _digest(data, 2, settings, place=arm, **PATIENT)}
        arm_grid[label(column)] = found
        say(f"{label(column)}, {ARM_STEPS} steps on {ARM}: {_verdict(found)}")
    equal = _show(grid, "50 steps") & (not arm_grid or _show(arm_grid, f"{ARM_STEPS} steps"))
    about: dict[str, Any] = {"steps": steps, "workers": list(workers), "columns": grid, "settings": TINY}
    about |= {"arithmetic": arithmetic.VERSION, "aarch64": arm_grid, "aarch64_steps": ARM_STEPS}
    print(f"{len(chosen)} columns in {time.monotonic() - started:.0f} s", file=sys.stderr)
    finish(NAME, equal=equal, ratios={}, details=about, options=options)


def _column(data: Path, workers: tuple[int, ...], settings: dict[str, Any], others: dict[str, Place]) -> Row:
    found = {str(count): _digest(data, count, settings) for count in workers}
    for isa in arithmetic.usable():
        found[isa] = _digest(data, 2, settings, place=Place(env={"SAMEBITS_ISA": isa}))
    with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
        half: dict[str, Any] = {"folder": str(Path(folder) / "run"), "steps_now": settings["steps"] // 2}
        ours(data, workers[1], settings, **half)
        found["resumed"] = _digest(data, workers[-1], settings, folder=half["folder"])
    return found | {name: _digest(data, 2, settings, place=place) for name, place in others.items()}


def _show(grid: dict[str, Row], title: str) -> bool:
    """Print a grid and tell whether every column of it has one digest."""
    rows = [
        (name, _verdict(found), str(len(found)), min(found.values())[:16])
        for name, found in sorted(grid.items())
    ]
    show_table((title, "digests", "places", "sha256"), rows)
    return all(verdict == "equal" for _, verdict, _, _ in rows)


def _kept(part: str) -> dict[str, Row]:
    """Return the columns of the last record."""
    path = RECORDS / f"{NAME}.json"
    if not path.exists():
        return {}
    details = json.loads(path.read_text(encoding="utf-8"))["details"]
    return dict(details.get(part, {})) if details.get("arithmetic") == arithmetic.VERSION else {}


def _verdict(found: Row) -> str:
    return "equal" if len(set(found.values())) == 1 else "DIFFERENT"


def _digest(data: Path, workers: int, settings: dict[str, Any], *, place: Place = HERE, **more: Any) -> str:
    return str(ours(data, workers, settings, python=place.python, env=place.env, **more)["digest"])


if __name__ == "__main__":
    main()
