"""The promise, counted: parameters and optimizer state after 50 steps, over every place and every way of training.

Columns are optimizer x dropout x classic or modern. Places are 1, 2, 3, 4 and 7 workers of 7 gradient shards; a run that goes
half way with 2 workers and on with 7; every instruction set of this processor (``SAMEBITS_ISA``); the floating-point modules
compiled by gcc and clang with -O1 and -O3; a library that makes the processor flush small numbers; the oldest NumPy; and, for
20 steps beside 20 steps here, an ARM processor under qemu-user. Each column must have one sha256, here and on every other
machine: the digests of this record are those to compare with.

``--only PART`` runs one of the parts ``workers``, ``resumed``, ``instructions``, ``gcc``, ``clang``, ``flushing``, ``numpy`` and
``aarch64``, and adds its places to the record: each takes a minute or two, ``aarch64`` about five. ``--columns TEXT`` runs those
columns whose name holds the text.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import RECORDS, arguments, finish, shared_data, show_table
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
Parts = dict[str, dict[str, Digests]]  # part -> place -> column -> sha256


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
        more: Settings of all runs.
    """

    def __init__(self, names: Sequence[str], steps: int, **more: Any) -> None:
        self.data = shared_data() / "tinyshakespeare.txt"
        self.steps = steps
        self.runs = {name: {**TINY, **columns()[name], "steps": steps, **more} for name in names}

    def digests(self, workers: int, there: Place = HERE, **more: Any) -> Digests:
        """Return the digests of all columns with so many workers there."""
        found = each_of_ours(
            self.data, workers, self.runs.values(), python=there.python, env=there.env, **more
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
    """Yield this machine and the emulated one, both with fewer steps and without validation, which takes most of the time there."""
    if place := arm_place():
        short = Grid(list(grid.runs), ARM_STEPS, val_ratio=0.0)
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
    options = arguments(__doc__ or "", only="", columns="")
    if options.only not in ("", *PARTS):
        sys.exit(f"--only is {options.only!r}; use one of {', '.join(PARTS)}")
    names = [name for name in columns() if options.columns in name]
    grid = Grid([names[0], names[-1]], 6) if options.quick else Grid(names, STEPS)
    made: Parts = {}
    for part in (options.only,) if options.only else (("workers",) if options.quick else tuple(PARTS)):
        for place, found in PARTS[part](grid):
            made.setdefault(part, {})[place] = found
            say(f"{part}: {place}")
    parts = made if options.quick else merged(_kept(), made)
    equal, counts = compare(parts)
    missing = [part for part in PARTS if part not in parts]
    say(f"not in the record yet: {', '.join(missing) or 'nothing'}")
    about = {"steps": grid.steps, "aarch64_steps": ARM_STEPS, "settings": TINY, "missing": missing}
    about |= {"arithmetic": arithmetic.VERSION, "parts": parts, **counts}
    finish(NAME, equal=equal, ratios={}, details=about, options=options)


def merged(old: Parts, new: Parts) -> Parts:
    """Return all digests of two records; those of the new one win."""
    found = {part: dict(places) for part, places in old.items()}
    for part, places in new.items():
        for place, digests in places.items():
            found.setdefault(part, {})[place] = {**found.get(part, {}).get(place, {}), **digests}
    return found


def compare(parts: Parts) -> tuple[bool, dict[str, int]]:
    """Print each column with its digest; return whether each has one, and how many digests were compared.

    The part ``aarch64`` has fewer steps, so its places are compared with one another.
    """
    whole = [found for part, places in parts.items() if part != "aarch64" for found in places.values()]
    short = list(parts.get("aarch64", {}).values())
    rows, compared, different = [], 0, 0
    for name in columns():
        for steps, places in ((STEPS, whole), (ARM_STEPS, short)):
            digests = [found[name] for found in places if name in found]
            compared += len(digests)
            different += len(digests) - digests.count(digests[0]) if digests else 0
            if digests:
                verdict = "equal" if len(set(digests)) == 1 else "DIFFERENT"
                rows.append((name, str(steps), str(len(digests)), verdict, digests[0][:16]))
    show_table(("column", "steps", "places", "digests", "sha256"), rows)
    return not different, {"digests": compared, "different": different}


def _kept() -> Parts:
    """Return the parts of the last record, where it has these settings."""
    path = RECORDS / f"{NAME}.json"
    details = json.loads(path.read_text(encoding="utf-8"))["details"] if path.exists() else {}
    now = {"arithmetic": arithmetic.VERSION, "settings": TINY, "steps": STEPS, "aarch64_steps": ARM_STEPS}
    same = all(details.get(key) == value for key, value in now.items())
    return dict(details["parts"]) if same else {}


if __name__ == "__main__":
    main()
