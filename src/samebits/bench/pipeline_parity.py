"""The promise for a whole recipe: one digest over executors and worker counts, and which stage differs first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from samebits.bench.cell import Cell, scratch_folder
from samebits.bench.parity import ParityRow
from samebits.errors import ParityError, SamebitsError

__all__ = ["check_pipeline_parity"]


def check_pipeline_parity(
    recipe: Path, changes: Sequence[str], grid: Sequence[Cell], *, tell: Callable[[ParityRow], None]
) -> list[ParityRow]:
    """Run the recipe once a cell, each in a process and an output folder of its own, and compare all digests.

    Raises:
        ParityError: names the cell and the first stage that differs.
        SamebitsError: with the child's own message if a run failed.
    """
    rows: list[ParityRow] = []
    with scratch_folder() as scratch:
        reference: dict[str, Any] = {}
        for number, cell in enumerate(grid):
            made = _run_cell(recipe, changes, cell, Path(scratch) / str(number))
            reference = reference or made
            rows.append(ParityRow(cell, made["digest"], made["seconds"]))
            tell(rows[-1])
            if made["digest"] != reference["digest"]:
                raise ParityError(_difference(grid[0], reference, cell, made))
    return rows


def _run_cell(recipe: Path, changes: Sequence[str], cell: Cell, output: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "samebits", "pipeline", "run", str(recipe), "-o", str(output), "--json"]
    command += ["--no-progress", "-x", cell.executor, "-w", str(cell.workers)]
    for change in changes:
        command += ["--set", change]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": cell.hash_seed},
        check=False,
    )
    if done.returncode != 0:
        raise SamebitsError(f"{cell.label} failed: {done.stderr.strip()}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def _difference(first: Cell, expected: dict[str, Any], cell: Cell, found: dict[str, Any]) -> str:
    for a, b in zip(expected["stages"], found["stages"], strict=True):
        if a["digest"] != b["digest"]:
            return (
                f"stage {a['name']!r}: {cell.label} gave {b['digest'][:16]}, "
                f"{first.label} gave {a['digest'][:16]}"
            )
    return f"{cell.label} gave other stages than {first.label}"
