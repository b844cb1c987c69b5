"""Pieces that stay in memory for the driver, and when they are written for a resume as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from samebits.data.folding import held_pieces
from samebits.data.folding.piece_files import PieceFolder, PieceLost

PIECES = [memoryview(b"lengths"), memoryview(b"ids"), memoryview(b"more ids")]


@pytest.fixture
def folder(tmp_path: Path) -> PieceFolder:
    made = PieceFolder.make(tmp_path / "kept", "token")
    held_pieces.begin_holding(made.path, 1)
    return made


def test_a_piece_is_taken_from_memory_once_and_was_not_written_in_the_first_second(
    folder: PieceFolder,
) -> None:
    index, _ = folder.write("a", PIECES)
    assert not folder.holds(index)  # so a resume makes it again
    assert folder.take_bytes(index, 0) == folder.read_bytes(index, 0) == b"lengths"
    assert [folder.take_bytes(index, piece) for piece in (1, 2)] == [b"ids", b"more ids"]
    with pytest.raises(PieceLost):
        folder.take_bytes(index, 2)


def test_after_the_first_second_pieces_are_written_too(
    folder: PieceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_pieces, "KEEP_SECONDS", 0.0)
    index, _ = folder.write("a", PIECES)
    assert folder.holds(index)
    (Path(folder.path) / "a").unlink()
    assert folder.take_bytes(index, 1) == b"ids"


def test_what_memory_has_no_room_for_is_written_and_read_back(
    folder: PieceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_pieces, "MOST_BYTES", 15)
    first, _ = folder.write("a", PIECES)
    second, _ = folder.write("b", PIECES)
    assert [folder.holds(first), folder.holds(second)] == [False, True]
    assert [folder.take_bytes(first, piece) for piece in (1, 2)] == [b"ids", b"more ids"]
    third, _ = folder.write("c", PIECES)  # there is room again
    assert not folder.holds(third)
    assert folder.take_bytes(second, 2) == b"more ids"


def test_a_task_that_runs_twice_loses_nothing(folder: PieceFolder) -> None:
    index, _ = folder.write("a", PIECES)
    again, _ = folder.write("a", PIECES)
    assert again == index
    assert folder.take_bytes(index, 1) == b"ids"
    assert folder.read_bytes(index, 2) == b"more ids"


def test_nothing_is_held_for_nobody(folder: PieceFolder) -> None:
    index, _ = folder.write("a", PIECES)
    held_pieces.end_holding(folder.path)
    held_pieces.end_holding(folder.path)
    with pytest.raises(PieceLost):
        folder.take_bytes(index, 1)
    index, _ = folder.write("a", PIECES)
    assert folder.holds(index)
    assert folder.take_bytes(index, 1) == b"ids"
