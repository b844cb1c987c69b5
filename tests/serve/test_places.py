"""Runs are found where they are, in the state they are in, and nothing outside the folder is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.conftest import REPO, trained, until

from samebits.serve.live.samples import WrittenSamples
from samebits.serve.runs.follow import Follower
from samebits.serve.runs.places import FolderPlace, Places, is_held, read_object, state_of


def start(output: Path, pace: float = 0.02, steps: int = 60) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.serve.training",
        str(output),
        "--pace",
        str(pace),
        "--steps",
        str(steps),
    ]
    return subprocess.Popen(command, cwd=REPO)


def fresh(folder: Path) -> Places:
    return Places(folder)


def test_a_run_is_running_then_stopped_then_running_then_finished(tmp_path: Path) -> None:
    output = tmp_path / "runs" / "model"
    process = start(output)
    until((output.with_name("model.journal") / "checkpoints" / "lm" / "at").exists)
    (place,) = fresh(tmp_path / "runs").all()
    assert (place.name, state_of(place)) == ("model", "running")
    assert is_held(place.journal) == process.pid
    process.kill()
    process.wait()
    assert state_of(place) == "stopped"
    process = start(output, pace=0.0)
    assert process.wait(60) == 0
    assert state_of(place) == "finished"
    (after,) = fresh(tmp_path / "runs").all()
    assert after.key == place.key
    assert not (output.with_name("model.journal")).exists()


def test_a_stopped_run_keeps_the_log_of_its_first_attempt_until_it_is_done(tmp_path: Path) -> None:
    output = tmp_path / "model"
    process = start(output)
    journal = output.with_name("model.journal")
    until((journal / "checkpoints" / "lm" / "at").exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = (journal / "events.jsonl").read_bytes()
    process = start(output)
    until(lambda: (journal / "events.earlier.jsonl").exists() and (journal / "events.jsonl").stat().st_size)
    assert (journal / "events.earlier.jsonl").read_bytes() == first
    assert process.wait(60) == 0
    assert json.loads((output / "record.json").read_bytes())["artifact_digest"]


def test_a_process_number_that_is_used_again_is_not_a_running_run(tmp_path: Path) -> None:
    journal = tmp_path / "model.journal"
    journal.mkdir()
    (journal / "lock").write_text(str(os.getpid()))
    assert is_held(journal) == os.getpid()
    os.utime(journal / "lock", (1, 1))  # written long before this process began
    assert is_held(journal) == 0


def test_links_hidden_folders_and_half_written_ones_are_no_runs(tmp_path: Path) -> None:
    trained(tmp_path / "outside" / "model")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "outside" / "model")
    (inside / "linked-folder").symlink_to(tmp_path / "outside")
    for name in (".hidden", "model.partial", "model.old"):
        (inside / name).mkdir()
        (inside / name / "manifest.json").write_text("{}")
    assert fresh(inside).all() == []


def test_names_that_are_no_text_are_shown_and_found(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9\n<b>")
    trained(tmp_path / name)
    (place,) = fresh(tmp_path).all()
    assert place.name == "caf\ufffd\n<b>"
    assert fresh(tmp_path).get(place.key) is not None


def test_the_folder_may_be_a_run_itself(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    (place,) = fresh(tmp_path / "model").all()
    assert place.name == "model"


def test_what_is_no_object_reads_as_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        assert read_object(path) == {}
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert read_object(path) == {}


@pytest.mark.timeout(10)
def test_pipes_in_the_place_of_files_of_a_run_are_not_waited_for(tmp_path: Path) -> None:
    """An archive of a stranger may hold them."""
    for folder in ("model.journal", "model/samples"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("model/record.json", "model/events.jsonl", "model/samples/step-1.txt", "model.journal/lock"):
        os.mkfifo(tmp_path / name)
    output, journal = tmp_path / "model", tmp_path / "model.journal"
    assert read_object(output / "record.json") == {}
    assert is_held(journal) == 0
    assert list(Follower(output / "events.jsonl").read(1000)) == []
    samples = WrittenSamples()
    samples.look(FolderPlace("0", "model", output, journal, 0.0), finished=True)
    assert samples.newest == []
