"""Writing so that it lasts: every file is synced, and one that cannot be is not passed over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from samebits.data.files import MANY_FILES, SYNC_THREADS, remove_tree, sync_all


def test_every_path_is_synced_once_whatever_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(str(Path(f"/proc/self/fd/{file}").readlink()))
    )
    for number in (0, 1, 2 * SYNC_THREADS + 3):
        synced.clear()
        paths = [tmp_path / f"file-{i}" for i in range(number)]
        for path in paths:
            path.touch()
        sync_all(paths)
        assert sorted(synced) == sorted(map(str, paths))


def test_a_file_that_cannot_be_synced_is_an_error_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    with pytest.raises(FileNotFoundError, match="gone"):
        sync_all([tmp_path / "here", tmp_path / "gone"])


def test_a_tree_that_is_not_there_is_removed_already(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for _ in range(2):
        remove_tree(tmp_path / "a")
        assert list(tmp_path.iterdir()) == []


def test_few_and_many_files_are_removed_and_what_cannot_be_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(number: int) -> Path:
        folder = tmp_path / "a"
        folder.mkdir(exist_ok=True)
        for i in range(number):
            (folder / str(i)).write_bytes(b"x")
        return folder

    for number in (1, MANY_FILES, 2 * MANY_FILES + 1):
        remove_tree(fill(number))
        assert list(tmp_path.iterdir()) == []
    unlink = os.unlink

    def refusing(path: Any, **folder: Any) -> None:
        if Path(path).name in ("0", "30"):  # whichever thread has them
            raise PermissionError(path)
        unlink(path, **folder)

    monkeypatch.setattr(os, "unlink", refusing)
    folder = fill(40)
    remove_tree(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "30"]
