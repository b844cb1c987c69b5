"""The promise as a check: one job over a grid of executors, worker counts and hash seeds must give one digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.bench.cell import Cell, run_cell, scratch_folder
from samebits.errors import ParityError
from samebits.verification.artifacts import compare

__all__ = ["ParityRow", "check_parity", "make_grid"]


@dataclass(frozen=True, slots=True)
class ParityRow:
    """One run of the grid."""

    cell: Cell
    digest: str
    seconds: float


def make_grid(executors: Sequence[str], workers: Sequence[int], hash_seeds: Sequence[str]) -> list[Cell]:
    """Return all combinations; the first is the reference. Serial has one worker, so it appears once a seed.

    >>> [cell.label for cell in make_grid(["serial", "threads"], [1, 3], ["0"])]
    ['serial 1, hash seed 0', 'threads 1, hash seed 0', 'threads 3, hash seed 0']
    """
    return [
        Cell(executor, count, seed)
        for seed in hash_seeds
        for executor in executors
        for count in ([1] if executor == "serial" else workers)
    ]


def check_parity(
    job: str, config: dict[str, Any], grid: Sequence[Cell], *, tell: Callable[[ParityRow], None]
) -> list[ParityRow]:
    """Run the grid and compare every digest with the first.

    Raises:
        ParityError: names the cell and the first difference between the artifacts.
    """
    rows: list[ParityRow] = []
    with scratch_folder() as scratch:
        for row, output in _run_grid(job, config, grid, Path(scratch)):
            rows.append(row)
            tell(row)
            if row.digest != rows[0].digest:
                _explain(rows[0], row, Path(scratch) / "0", output)
    return rows


def _run_grid(
    job: str, config: dict[str, Any], grid: Sequence[Cell], scratch: Path
) -> Iterator[tuple[ParityRow, Path]]:
    for number, cell in enumerate(grid):
        output = scratch / str(number)
        record = run_cell(job, config, cell, output)
        yield ParityRow(cell, record["artifact_digest"], record["seconds"]), output


def _explain(reference: ParityRow, row: ParityRow, reference_output: Path, output: Path) -> None:
    try:
        compare(reference_output, output)
    except ParityError as difference:
        raise ParityError(
            f"{row.cell.label} gave {row.digest[:16]}, {reference.cell.label} gave {reference.digest[:16]}: "
            f"{difference.message}",
            hint="the job is not deterministic; --recheck 1 finds the shard",
        ) from None
