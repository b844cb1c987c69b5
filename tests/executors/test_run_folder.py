"""The folder of a run: private, gone with its driver, and swept by the next run if nobody was left to remove it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from samebits.executors.run_folder import RunFolder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_can_be_removed_twice(temporary: Path) -> None:
    folder = RunFolder()
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    folder.remove()
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_a_new_run_leaves_the_folders_of_living_drivers_alone(temporary: Path) -> None:
    first, second = RunFolder(), RunFolder()
    assert first.path.exists()
    second.remove()
    first.remove()


def test_a_new_run_removes_what_a_killed_driver_left(temporary: Path) -> None:
    code = (
        "import time; from samebits.executors.run_folder import RunFolder;"
        "print(RunFolder().path, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as driver:
        assert driver.stdout is not None
        left = Path(driver.stdout.readline().strip())
        driver.send_signal(signal.SIGKILL)
    assert left.exists()
    folder = RunFolder()
    assert list(temporary.iterdir()) == [folder.path]
    folder.remove()


def test_other_files_with_such_names_are_nobodys_business(temporary: Path) -> None:
    (temporary / "samebits-run-note").touch()
    (temporary / "samebits-run-mine").mkdir()
    RunFolder().remove()
    assert sorted(path.name for path in temporary.iterdir()) == ["samebits-run-mine", "samebits-run-note"]


def test_semaphores_of_a_killed_driver_go_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("samebits.executors.run_folder.SEMAPHORES", tmp_path)
    for name in ("sem.loky-4242-a", "sem.loky-42421-a", "sem.loky-7-a"):
        (tmp_path / name).touch()
    left = tmp_path / "samebits-run-dead"
    left.mkdir()
    (left / "driver").write_text("4242")
    RunFolder().remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sem.loky-42421-a", "sem.loky-7-a"]
