"""Answers in the spool: what was put there is taken once, and what is not whole is not taken."""

from __future__ import annotations

from pathlib import Path

from samebits.executors.cluster.answers import Answers, put_answers, take_answers


def test_answers_are_taken_once_and_leave_nothing(tmp_path: Path) -> None:
    put_answers(str(tmp_path), "m-1", Answers({0: b"one", 1: b""}))
    put_answers(str(tmp_path), "m-1", Answers({0: b"one", 1: b""}))  # Dask may run a task twice
    assert take_answers(str(tmp_path), "m-1") == Answers({0: b"one", 1: b""})
    assert take_answers(str(tmp_path), "m-1") is None
    assert list(tmp_path.iterdir()) == []


def test_damaged_answers_have_to_be_fetched(tmp_path: Path) -> None:
    put_answers(str(tmp_path), "m-1", Answers({0: b"one"}))
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert take_answers(str(tmp_path), "m-1") is None


def test_a_folder_that_is_not_there_is_no_reason_to_stop(tmp_path: Path) -> None:
    put_answers(str(tmp_path / "gone"), "m-1", Answers({0: b"one"}))
    assert take_answers(str(tmp_path / "gone"), "m-1") is None
