"""The benches find what they are for: a planted difference, a known serial share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samebits.bench import parity
from samebits.bench.cell import Cell, run_cell
from samebits.bench.speedup import tabulate
from samebits.core.observing.amdahl import fit_amdahl
from samebits.errors import ParityError, SamebitsError


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text("the cat\nthe dog\n")
    return path


def test_parity_names_a_planted_difference(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(job: str, config: dict[str, Any], cell: Cell, output: Path) -> dict[str, Any]:
        return run_cell(job, {**config, "n": cell.workers}, cell, output)

    monkeypatch.setattr(parity, "run_cell", planted)
    seen: list[str] = []
    with pytest.raises(ParityError, match=r"threads 2, hash seed 0 gave .* differ in counts.jsonl at byte"):
        parity.check_parity(
            "count",
            {"inputs": [str(book)]},
            parity.make_grid(["serial", "threads"], [2], ["0"]),
            tell=lambda row: seen.append(row.digest),
        )
    assert len(seen) == 2


def test_a_cell_that_fails_says_why(tmp_path: Path) -> None:
    config = {"inputs": [str(tmp_path / "missing.txt")]}
    with pytest.raises(SamebitsError, match=r"serial 1, hash seed 0 failed: .*missing.txt"):
        run_cell("count", config, Cell("serial", 1), tmp_path / "out")


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_amdahl_is_recovered_from_points_that_follow_it(share: float) -> None:
    points = [(workers, 1 / (share + (1 - share) / workers)) for workers in (1, 2, 4, 8)]
    assert round(fit_amdahl(points), 9) == share


def test_one_worker_count_tells_nothing_of_the_serial_share() -> None:
    assert fit_amdahl([(1, 1.0)]) == 0.0


def test_the_table_takes_medians_and_the_largest_memory() -> None:
    def record(workers: int, seconds: float, peak: int) -> dict[str, Any]:
        return {"workers": workers, "seconds": seconds, "peak_rss": {"driver": peak, "largest_child": 0}}

    rows = tabulate(
        [record(2, 6.0, 1), record(1, 10.0, 5), record(1, 30.0, 7), record(1, 11.0, 6), record(2, 5.0, 9)]
    )
    assert [(row.workers, row.seconds, row.fastest, row.slowest, row.peak_rss) for row in rows] == [
        (1, 11.0, 10.0, 30.0, 7),
        (2, 5.5, 5.0, 6.0, 9),
    ]
    assert rows[1].speedup == 2.0
    assert rows[1].efficiency == 1.0
