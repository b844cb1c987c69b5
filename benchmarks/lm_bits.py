"""The promise, counted: parameters and optimizer state after 50 steps, over every place and every way of training.

Columns are optimizer x dropout x classic or modern. Places are 1, 2, 3, 4 and 7 workers of 7 gradient shards; a run that goes
half way with 2 workers and on with 7; every instruction set of this processor (``SAMEBITS_ISA``); the floating-point modules
compiled by gcc and clang with -O1 and -O3; a library that makes the processor flush small numbers; the oldest NumPy; and, for
20 steps beside 20 steps here, an ARM processor under qemu-user. Each column must have one sha256, here and on every other
machine: the digests of this record are those to compare with.

``--only PART`` runs one of the parts ``workers``, ``resumed``, ``instructions``, ``gcc``, ``clang``, ``flushing``, ``numpy`` and
``aarch64``, and adds its places to the record: each takes a minute or two, ``aarch64`` about ten.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import RECORDS, arguments, finish, shared_data, show_table, today
from benchmarks.lm_places import ARM, NUMPY, Place, arm_place, compiled, flushing, other_numpy
from benchmarks.lm_sides import each_of_ours, say
from samebits import arithmetic

NAME = "lm_bits"
TINY: dict[str, Any] = {"layers": 2, "heads": 2, "width": 32, "block": 16, "batch": 28, "shards": 7}
TINY |= {"ngram_rows": 512, "validate_every": 0, "tensorboard": False}
STEPS, ARM_STEPS = 50, 20
WORKERS = (1, 2, 3, 4, 7)
HERE = Place()
PATIENT = {"place": {"stall_timeout": 900.0}}  # an emulated Python takes long to start
Digests = dict[str, str]  # column -> sha256
Found = Iterator[tuple[str, Digests]]  # places and what they gave


def columns() -> dict[str, dict[str, Any]]:
    """Return the settings of every column by its name."""
    choices = itertools.product(("classic", "modern"), ("adamw", "muon"), (0.0, 0.1))
    return {
        f"{kind} {optimizer} dropout {dropout}": {"kind": kind, "optimizer": optimizer, "dropout": dropout}
        for kind, optimizer, dropout in choices
    }


class Grid:
    """Runs every column in a place.

    Args:
        names: Columns to run.
        steps: Of each run.
    """

    def __init__(self, names: Sequence[str], steps: int) -> None:
        self.data = shared_data() / "tinyshakespeare.txt"
        self.steps = steps
        self.runs = {name: {**TINY, **columns()[name], "steps": steps} for name in names}

    def digests(self, workers: int, place: Place = HERE, **more: Any) -> Digests:
        """Return the digests of all columns with so many workers there."""
        found = each_of_ours(
            self.data, workers, self.runs.values(), python=place.python, env=place.env, **more
        )
        return {name: str(run["digest"]) for name, run in zip(self.runs, found, strict=True)}


def in_workers(grid: Grid) -> Found:
    """Yield every number of workers."""
    for count in WORKERS:
        yield f"{count} workers" if count > 1 else "1 worker", grid.digests(count)


def resumed(grid: Grid) -> Found:
    """Yield a run that begins with 2 workers and ends with 7."""
    found: Digests = {}
    for name in grid.runs:
        one = Grid([name], grid.steps)
        with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
            one.digests(2, folder=folder, steps_now=grid.steps // 2)
            found |= one.digests(7, folder=folder)
    yield "2 workers, resumed by 7", found


def in_instructions(grid: Grid) -> Found:
    """Yield every instruction set of this processor."""
    for isa in arithmetic.usable():
        yield isa, grid.digests(2, Place(env={"SAMEBITS_ISA": isa}))


def in_builds(compiler: str) -> Callable[[Grid], Found]:
    """Return what yields the builds of a compiler."""

    def found(grid: Grid) -> Found:
        for level in ("-O1", "-O3"):
            with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
                if place := compiled(compiler, level, Path(folder)):
                    yield f"{compiler} {level}", grid.digests(2, place)

    return found


def beside_flushing(grid: Grid) -> Found:
    """Yield a library that flushes small numbers."""
    with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
        if place := flushing(Path(folder)):
            yield "a library that flushes", grid.digests(2, place)


def with_numpy(grid: Grid) -> Found:
    """Yield the oldest NumPy."""
    with tempfile.TemporaryDirectory(prefix="samebits-bits-") as folder:
        yield f"NumPy {NUMPY}", grid.digests(2, other_numpy(Path(folder)))


def on_arm(grid: Grid) -> Found:
    """Yield this machine and the emulated one, both with fewer steps."""
    if place := arm_place():
        short = Grid(list(grid.runs), ARM_STEPS)
        yield "here", short.digests(2)
        yield ARM, short.digests(1, place, **PATIENT)


PARTS: dict[str, Callable[[Grid], Found]] = {
    "workers": in_workers,
    "resumed": resumed,
    "instructions": in_instructions,
    "gcc": in_builds("gcc"),
    "clang": in_builds("clang"),
    "flushing": beside_flushing,
    "numpy": with_numpy,
    "aarch64": on_arm,
}


def main() -> None:
    """Run the parts, add them to the record, and compare."""
    options = arguments(__doc__ or "", only="")
    if options.only not in ("", *PARTS):
        sys.exit(f"--only is {options.only!r}; use one of {', '.join(PARTS)}")
    names = list(columns())
    grid = Grid([names[0], names[-1]], 6) if options.quick else Grid(names, STEPS)
    made: dict[str, Any] = {}
    for part in (options.only,) if options.only else (("workers",) if options.quick else tuple(PARTS)):
        places: dict[str, Digests] = {}
        for place, found in PARTS[part](grid):
            places[place] = found
            say(f"{part}: {place}")
        if places:
            made[part] = {"places": places, "measured": today()}
    parts = made if options.quick else {**_kept(), **made}
    equal, counts = _compare(parts, grid.runs)
    missing = [part for part in PARTS if part not in parts]
    if missing:
        say(f"not in the record yet: {', '.join(missing)}")
    about = {"steps": grid.steps, "aarch64_steps": ARM_STEPS, "settings": TINY, "missing": missing}
    about |= {"arithmetic": arithmetic.VERSION, "parts": parts, **counts}
    finish(NAME, equal=equal, ratios={}, details=about, options=options)


def _compare(parts: Mapping[str, Any], names: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Print each column with its digest; return whether each has one, and how many places and digests there are.

    The part ``aarch64`` has fewer steps, so its places are compared with one another.
    """
    whole = [
        found for part, about in parts.items() if part != "aarch64" for found in about["places"].values()
    ]
    short = list(parts.get("aarch64", {"places": {}})["places"].values())
    rows, different = [], 0
    for name in names:
        digests = [{found[name] for found in places} for places in (whole, short)]
        different += sum(max(0, len(several) - 1) for several in digests)
        same = all(len(several) < 2 for several in digests)
        rows.append((name, "equal" if same else "DIFFERENT", min(digests[0] or digests[1])[:16]))
    show_table(("column", f"{len(whole)} + {len(short)} places", "sha256"), rows)
    counts = {"places": len(whole) + len(short), "digests": (len(whole) + len(short)) * len(names)}
    return not different, {**counts, "different": different}


def _kept() -> dict[str, Any]:
    """Return the parts of the last record, where it has these settings."""
    path = RECORDS / f"{NAME}.json"
    details = json.loads(path.read_text(encoding="utf-8"))["details"] if path.exists() else {}
    now = {"arithmetic": arithmetic.VERSION, "settings": TINY, "steps": STEPS, "aarch64_steps": ARM_STEPS}
    same = all(details.get(key) == value for key, value in now.items())
    return dict(details["parts"]) if same else {}


if __name__ == "__main__":
    main()
