"""Checkpoints: a run that stops anywhere and goes on with any number of workers ends with the bits of one that did not stop."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.lockstep.objectives import Net, Recorder, run

from samebits.errors import EnvironmentMismatch, OutputFailed, PlanMismatch
from samebits.lockstep.parent import checkpoints as checkpoint
from samebits.lockstep.parent import tensor_file
from samebits.lockstep.parent.checkpoints import steps_in
from samebits.lockstep.parent.events import CheckpointSaved, FitStarted, StepDone
from samebits.lockstep.parent.train import FitResult
from samebits.lockstep.problem.config import Every

EACH_STEP = Every(steps=1, seconds=0, keep=100)
SETTINGS: dict[str, Any] = {"optimizer": "muon", "schedule": "cosine", "plateau": 1}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[FitResult, Path]:
    """An undisturbed run of six steps, and the checkpoints of every step of it."""
    folder = tmp_path_factory.mktemp("whole")
    return run(workers=2, folder=folder, every=EACH_STEP, **SETTINGS), folder


def only(step: int, source: Path, folder: Path) -> Path:
    """A folder that holds one of the checkpoints."""
    shutil.copytree(source / f"step-{step:09d}", folder / f"step-{step:09d}")
    return folder


@pytest.mark.parametrize(("step", "workers"), [(1, 3), (2, 1), (3, 4), (4, 2), (5, 1)])
def test_a_run_continues_from_any_step_on_any_number_of_workers(
    step: int, workers: int, whole: tuple[FitResult, Path], tmp_path: Path
) -> None:
    expected, source = whole
    observer = Recorder()
    found = run(
        workers=workers, folder=only(step, source, tmp_path), every=EACH_STEP, observer=observer, **SETTINGS
    )
    assert observer.of(FitStarted)[0].step == step
    assert found.digest == expected.digest
    assert found.losses.tobytes() == expected.losses.tobytes(), "the history goes back to step 0"
    assert found.validations == expected.validations
    for later in range(step + 1, 7):
        name = f"step-{later:09d}/state.safetensors"
        assert (tmp_path / name).read_bytes() == (source / name).read_bytes()


def test_a_finished_run_is_read_back_without_workers(whole: tuple[FitResult, Path]) -> None:
    observer = Recorder()
    found = run(folder=whole[1], observer=observer, **SETTINGS)
    assert found.digest == whole[0].digest
    assert all((found.params[name] == value).all() for name, value in whole[0].params.items())
    assert observer.events == []


def test_a_checkpoint_is_a_safetensors_file(whole: tuple[FitResult, Path]) -> None:
    tensors = load_file(whole[1] / "step-000000006" / "state.safetensors")
    assert {"params", "first", "second", "losses"} <= set(tensors)
    assert tensors["losses"].tobytes() == whole[0].losses.tobytes()


def test_only_the_last_few_are_kept_and_the_last_step_always_is(tmp_path: Path) -> None:
    observer = Recorder()
    run(folder=tmp_path, every=Every(steps=2, seconds=0, keep=2), steps=5, observer=observer)
    assert steps_in(tmp_path) == [5, 4]
    assert [event.step for event in observer.of(CheckpointSaved)] == [2, 4, 5]


def test_checkpoints_are_saved_after_so_many_seconds_too(tmp_path: Path) -> None:
    observer = Recorder()
    run(Net(slow=0.02), folder=tmp_path, every=Every(seconds=0.001), steps=8, observer=observer)
    assert len(observer.of(CheckpointSaved)) >= 2


@pytest.mark.parametrize("damage", ["flip", "cut", "json", "gone"])
def test_a_damaged_checkpoint_is_passed_over_and_named(
    damage: str, whole: tuple[FitResult, Path], tmp_path: Path
) -> None:
    only(2, whole[1], tmp_path)
    broken = only(4, whole[1], tmp_path) / "step-000000004"
    data = (broken / "state.safetensors").read_bytes()
    if damage == "flip":
        (broken / "state.safetensors").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "cut":
        (broken / "state.safetensors").write_bytes(data[: len(data) // 2])
    elif damage == "json":
        (broken / "state.json").write_bytes(b"{")
    else:
        (broken / "state.json").unlink()
    observer = Recorder()
    assert run(folder=tmp_path, observer=observer, **SETTINGS).digest == whole[0].digest
    assert observer.of(FitStarted)[0].step == 2
    assert "step-000000004 is damaged" in observer.warnings[0]


def test_another_environment_is_refused_by_name_or_marks_the_result(
    whole: tuple[FitResult, Path], tmp_path: Path
) -> None:
    head = only(4, whole[1], tmp_path) / "step-000000004" / "state.json"
    fields = json.loads(head.read_text())
    fields["fingerprint"]["cpu"] = "another one"
    head.write_text(json.dumps(fields))
    with pytest.raises(EnvironmentMismatch, match="cpu was 'another one', is"):
        run(folder=tmp_path, **SETTINGS)
    observer = Recorder()
    result = run(folder=tmp_path, allow_environment_change=True, observer=observer, **SETTINGS)
    assert not result.exact
    assert "not exact: cpu was" in observer.warnings[0]
    assert not run(folder=tmp_path, **SETTINGS).exact, "for good"
    assert whole[0].exact


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 0.5}, "lr was 0.01, is 0.5$"),
        ({"shards": 8}, "shards was 7, is 8$"),
        ({"seed": 3, "clip": 2.0}, "clip was 1.0, is 2.0; seed was 0, is 3$"),
        ({"steps": 9}, "steps was 6, is 9$"),  # a cosine would have had other rates
        ({"objective": Net(width=32)}, "width was 64, is 32$"),
        ({"objective": Net(validation=5)}, ""),
    ],
)
def test_other_settings_are_refused_by_name(
    change: dict[str, Any], words: str, whole: tuple[FitResult, Path], tmp_path: Path
) -> None:
    only(6, whole[1], tmp_path)
    if not words:
        assert run(folder=tmp_path, **{**SETTINGS, **change}).digest == whole[0].digest
        return
    with pytest.raises(PlanMismatch) as caught:
        run(folder=tmp_path, **{**SETTINGS, **change})
    assert caught.match("of step 6 belongs to a different run")
    assert re.search(words, caught.value.message)


def test_more_steps_go_on_where_they_change_nothing_done(tmp_path: Path) -> None:
    straight = run(steps=6)
    run(steps=4, folder=tmp_path)
    longer = run(steps=6, folder=tmp_path, workers=2)
    assert longer.digest == straight.digest
    assert len(longer.losses) == 6


def test_starting_over_throws_checkpoints_away(tmp_path: Path) -> None:
    from samebits.core.ports.place import Place
    from samebits.lockstep.parent.train import train
    from samebits.lockstep.problem.config import FitConfig

    run(steps=3, folder=tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    observer = Recorder()
    config = FitConfig(steps=2, shards=3)
    train(Net(), config, place=Place(folder=tmp_path, resume=False), observer=observer)
    assert [event.step for event in observer.of(StepDone)] == [0, 1]
    assert steps_in(tmp_path) == [2]
    assert (tmp_path / "notes.txt").exists()


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()
    real, calls = tensor_file.write_tensors, []

    def full(path: Path, tensors: Any) -> str:
        calls.append(path)
        if len(calls) == 2:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        return real(path, tensors)

    monkeypatch.setattr(checkpoint, "write_tensors", full)
    with pytest.raises(OutputFailed, match=r"step-000000004: No space left on device"):
        run(folder=tmp_path, every=Every(steps=2, seconds=0), workers=2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000002"]
    assert run(folder=tmp_path).digest == whole.digest


def test_tensors_come_back_as_they_were(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "none": np.zeros(0),
        "crc": np.array([1, 2**32 - 1], np.uint32),
        "n": np.array([-5], np.int64),
    }
    tensor_file.write_tensors(tmp_path / "x", tensors)
    for found in (tensor_file.read_tensors(tmp_path / "x"), load_file(tmp_path / "x")):
        assert set(found) == set(tensors)
        assert all((found[name] == value).all() for name, value in tensors.items())
        assert [found[name].dtype for name in tensors] == [value.dtype for value in tensors.values()]
