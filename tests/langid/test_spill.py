"""Numbers in memory, in a file, and moved from one to the other half way are the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samebits.errors import OutputFailed
from samebits.langid.training import spill
from samebits.langid.training.spill import TokenSpill


def fill(path: Path, sizes: list[int], expected: int | None = None) -> tuple[TokenSpill, list[int]]:
    """Add blocks of these sizes; return what must come out."""
    found, wanted = TokenSpill(path), list[int]()
    if expected is not None:
        found.expect(expected)
    numbers = np.arange(1000, 2000, dtype=np.uint32)
    for block, size in enumerate(sizes):
        tokens = np.arange(size, dtype=np.uint32) * (block + 1) % 1000
        found.add(numbers, tokens.astype(np.uint16) if block % 2 else tokens)
        wanted += numbers[tokens].tolist()
    return found, wanted


@pytest.mark.parametrize("sizes", [[], [0], [5], [40, 3], [7, 0, 90, 1, 200], [300]])
@pytest.mark.parametrize("most", [0, 10, 1000])
@pytest.mark.parametrize("expected", [None, 0, 20, 5000])
def test_numbers_come_back_wherever_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int], most: int, expected: int | None
) -> None:
    monkeypatch.setattr(spill, "MOST_IN_MEMORY", most)
    monkeypatch.setattr(spill, "FIRST_ROOM", 4)
    found, wanted = fill(tmp_path / "tokens", sizes, expected)
    assert found.finish().tolist() == wanted
    assert (tmp_path / "tokens").exists() == (sum(sizes) > most)
    found.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MOST_IN_MEMORY", 0)
    found, _ = fill(Path("/dev/full"), [10])
    with pytest.raises(OutputFailed, match="No space left"):
        found.close()
