"""One run at a time on one output."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from samebits.data.lock import OutputLock
from samebits.errors import OutputBusy, OutputFailed

HOLD = (
    "import sys, time; from pathlib import Path; from samebits.data.lock import OutputLock;"
    "lock = OutputLock(Path(sys.argv[1]), output=Path('out')); print('held', flush=True); time.sleep(60)"
)


def test_the_second_is_told_who_holds_it_and_gets_it_when_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "j" / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(OutputBusy, match=rf"process {holder.pid}\) is writing out") as caught:
            OutputLock(path, output=Path("out"))
        assert caught.value.hint
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    OutputLock(path, output=Path("out")).release()


def test_it_can_be_taken_again_after_release_even_if_the_folder_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "j" / "lock"
    lock = OutputLock(path, output=Path("out"))
    shutil.rmtree(path.parent)
    lock.release()
    OutputLock(path, output=Path("out")).release()


def test_a_folder_that_vanishes_again_and_again_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run removes the journal's folder at its end, at any moment."""
    path = tmp_path / "j" / "lock"
    real_open = os.open
    vanished: list[Path] = []

    def vanish(name: Path, *arguments: int) -> int:
        if len(vanished) < 3:
            vanished.append(name)
            path.parent.rmdir()
        return real_open(name, *arguments)

    monkeypatch.setattr(os, "open", vanish)
    OutputLock(path, output=Path("out")).release()
    assert len(vanished) == 3


def test_a_place_that_cannot_be_written_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputFailed, match="cannot write"):
        OutputLock(tmp_path / "file" / "lock", output=Path("out"))
