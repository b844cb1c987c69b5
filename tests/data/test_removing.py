"""What workers have kept is removed by them; what they leave, the driver removes."""

from __future__ import annotations

from pathlib import Path

import pytest

from samebits.core.plan import Shard
from samebits.core.ports.executor import Handle, Promise, Task
from samebits.data.folding import removing
from samebits.data.folding.piece_files import PieceFolder
from samebits.data.folding.removing import RemoveKept, remove_on_workers
from samebits.errors import ClusterLost
from samebits.executors.serial import SerialExecutor

NUM_FILES = 40


@pytest.fixture
def folder(tmp_path: Path) -> PieceFolder:
    found = PieceFolder.make(tmp_path / "kept", "abc")
    for number in range(NUM_FILES):
        found.put(f"file-{number}", [b"x"])
    return found


def _names(folder: PieceFolder) -> set[str]:
    return {path.name for path in Path(folder.path).iterdir()}


def test_each_share_takes_its_own_files_and_all_shares_take_all(folder: PieceFolder) -> None:
    left = [NUM_FILES + 1]
    for index in range(3):
        RemoveKept(folder, 3)(Shard(index, 0, index, index + 1), None)
        left.append(len(_names(folder)))
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == 4  # every share had some
    assert _names(folder) == {"token"}


def test_a_folder_with_another_token_is_left_alone(folder: PieceFolder) -> None:
    RemoveKept(PieceFolder(folder.path, "another"), 1)(Shard(0, 0, 0, 1), None)
    assert len(_names(folder)) == NUM_FILES + 1


def test_workers_remove_what_they_have_kept(folder: PieceFolder) -> None:
    remove_on_workers(SerialExecutor(), Path(folder.path), folder.token)
    assert _names(folder) == {"token"}


def test_a_few_files_and_no_folder_are_not_worth_a_task(
    folder: PieceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "FEWEST_FILES", NUM_FILES + 2)
    remove_on_workers(SerialExecutor(), Path(folder.path), folder.token)
    remove_on_workers(SerialExecutor(), Path(folder.path) / "none", folder.token)
    assert len(_names(folder)) == NUM_FILES + 1


def test_a_cluster_that_is_lost_by_then_does_no_harm(folder: PieceFolder) -> None:
    class Lost(SerialExecutor):
        def submit(self, task: Task, shard: Shard, handle: Handle) -> Promise:
            raise ClusterLost("gone")

    remove_on_workers(Lost(), Path(folder.path), folder.token)
    assert len(_names(folder)) == NUM_FILES + 1
