"""Anyone can check a training run: steps computed again, and two runs compared to the first differing step and tensor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Run, command_line
from tests.lm.conftest import make_text
from tests.lm.test_training import command, train
from tests.lockstep.launch import LONG, start

from samebits import arithmetic
from samebits.core.options import RunOptions
from samebits.data.journal import kept_folder
from samebits.errors import ArtifactCorrupt, ConfigError, ParityError
from samebits.lockstep.parent.checkpoints import Checkpoint, load_step, steps_in
from samebits.lockstep.verification.differences import read_model, read_steps
from samebits.verification import artifacts
from samebits.verification.replays import replay

pytestmark = pytest.mark.slow
samebits = pytest.fixture(command_line)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight steps that keeps the checkpoint of every third."""
    folder = tmp_path_factory.mktemp("honest")
    (folder / "mill.txt").write_text(make_text(), encoding="utf-8")
    train(folder / "mill.txt", folder / "run", workers=2, keep_every=3)
    return folder / "run"


@pytest.fixture(scope="module")
def cheat(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same command, but somebody changed a few weights after three steps, and then let it run on."""
    output = tmp_path_factory.mktemp("cheat") / "run"
    found = load_step(kept_folder(honest), 3)
    params = np.array(found.tensors["params"])
    params[:64] *= np.float32(1.01)
    changed = Checkpoint(3, found.head, {**found.tensors, "params": params})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("samebits.lockstep.parent.train._find", lambda run: changed)
        train(honest.parent / "mill.txt", output, workers=1, keep_every=3)
    return output


def test_kept_checkpoints_lie_beside_a_run_and_are_no_part_of_it(honest: Path, tmp_path: Path) -> None:
    assert sorted(steps_in(kept_folder(honest))) == [3, 6]
    record = train(honest.parent / "mill.txt", tmp_path / "run", workers=1)
    assert record.artifact_digest == artifacts.verify(honest).digest
    assert not kept_folder(tmp_path / "run").exists()


@pytest.mark.parametrize(("start", "stop", "first"), [(4, 6, 3), (0, 2, 0), (7, 8, 6)])
def test_steps_are_computed_again_from_the_nearest_checkpoint(
    start: int, stop: int, first: int, honest: Path
) -> None:
    report = replay(honest, start, stop, options=RunOptions(workers="1"))
    assert (report.first, report.stop) == (first, stop)
    expected = {6: ["the checkpoint after 6 steps is the same"], 8: ["the weights of the model are the same"]}
    assert list(report.checked) == expected.get(stop, [])


@pytest.mark.parametrize("isa", arithmetic.usable())
def test_every_instruction_set_computes_the_same_steps_again(
    isa: str, honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEBITS_ISA", isa)  # for the workers, which are new processes
    assert replay(honest, 3, 8, options=RunOptions(workers="2")).checked == (
        "the weights of the model are the same",
    )


def test_a_run_goes_on_with_another_cpu_and_another_number_of_workers(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load_step(kept_folder(honest), 3)
    assert found.head["fingerprint"] == {"arithmetic": "1", "compute": "portable"}
    monkeypatch.setattr("samebits.lockstep.parent.train._find", lambda run: found)
    monkeypatch.setenv("SAMEBITS_ISA", arithmetic.usable()[-1])
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")  # what another CPU type would have
    record = train(honest.parent / "mill.txt", tmp_path / "run", workers=3)
    assert record.artifact_digest == artifacts.verify(honest).digest


def test_ranks_on_cpus_of_two_types_make_the_same_model(honest: Path, tmp_path: Path) -> None:
    best, *_, least = arithmetic.usable()
    kinds = {0: {"SAMEBITS_ISA": least, "MKL_CBWR": "COMPATIBLE"}, 1: {"SAMEBITS_ISA": best}}
    arguments = command(honest.parent / "mill.txt", tmp_path / "run", workers=2)[1:]
    arguments.remove("--dropout=0.1")
    ranks = start(2, arguments, variables=kinds, folder=tmp_path)
    said = [process.communicate(timeout=LONG)[1] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], said
    assert artifacts.verify(tmp_path / "run").digest == artifacts.verify(honest).digest


def test_a_run_that_was_tampered_with_does_not_come_out_again(cheat: Path) -> None:
    with pytest.raises(ParityError, match=r"first difference in step 3: loss is .* and .*"):
        replay(cheat, 0, 8)
    assert replay(cheat, 0, 3).first == 0, "what came before is as it says"


def test_two_runs_are_compared_to_the_first_differing_step_and_tensor(honest: Path, cheat: Path) -> None:
    with pytest.raises(ParityError) as caught:
        artifacts.compare(honest, cheat)
    first, second = caught.value.message.splitlines()
    assert "differ, first in step 3: loss is " in first
    assert second.startswith("  the checkpoint after 6 steps: parameter '")
    assert "elements differ)" in second
    assert "--replay" in caught.value.hint


def test_without_checkpoints_the_tensor_is_one_of_the_model(
    honest: Path, cheat: Path, tmp_path: Path
) -> None:
    shutil.copytree(cheat, tmp_path / "alone")
    with pytest.raises(ParityError, match="the model: '"):
        artifacts.compare(honest, tmp_path / "alone")


def test_runs_with_other_settings_say_so_first(honest: Path, tmp_path: Path) -> None:
    train(honest.parent / "mill.txt", tmp_path / "run", workers=1, seed=1)
    with pytest.raises(
        ParityError, match="differ, first in settings: seed is 1337 and 1\n  step 0: grad_norm is"
    ):
        artifacts.compare(honest, tmp_path / "run")


def test_the_command_names_what_it_checked_and_takes_inputs_from_another_place(
    honest: Path, tmp_path: Path, samebits: Run
) -> None:
    shutil.copytree(honest, tmp_path / "run")
    shutil.copytree(kept_folder(honest), tmp_path / "run.checkpoints")
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    (tmp_path / "run" / "record.json").write_text(json.dumps({**record, "inputs": ["/nowhere/mill.txt"]}))
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(honest.parent / "mill.txt", tmp_path / "elsewhere" / "mill.txt")
    flags = ["--replay", "4:6", "-w", "1", "--input", str(tmp_path / "elsewhere" / "mill.txt")]
    done = samebits("verify", tmp_path / "run", *flags)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert (
        "steps 3:6 computed again from the checkpoint after 3 steps: the same losses, norms and checksums"
        in lines
    )
    assert any(line.startswith("state after 6 steps ") for line in lines)


@pytest.mark.parametrize(
    ("steps", "words"), [((5, 5), "there are no steps 5:5"), ((3, 9), "in a run of 8 steps")]
)
def test_steps_that_are_not_there_are_refused(steps: tuple[int, int], words: str, honest: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        replay(honest, *steps)


def test_a_damaged_checkpoint_is_named(honest: Path, tmp_path: Path) -> None:
    shutil.copytree(honest, tmp_path / "run")
    shutil.copytree(kept_folder(honest), tmp_path / "run.checkpoints")
    (tmp_path / "run.checkpoints" / "step-000000003" / "state.safetensors").write_bytes(b"short")
    with pytest.raises(ArtifactCorrupt, match="step-000000003 is damaged"):
        replay(tmp_path / "run", 3, 5)
    assert replay(tmp_path / "run", 0, 2).first == 0


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("steps.jsonl", b"{}\n[1\n", "steps.jsonl, line 2"),
        ("model.safetensors", b"junk", "model.safetensors: "),
    ],
)
def test_an_artifact_that_was_never_a_training_run_is_refused_by_name(
    name: str, text: bytes, words: str, honest: Path, tmp_path: Path
) -> None:
    shutil.copytree(honest, tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(text)
    if name == "steps.jsonl":
        with pytest.raises(ArtifactCorrupt, match=words):
            read_steps(tmp_path / "run" / name)
    else:
        with pytest.raises(ArtifactCorrupt, match=words):
            read_model(tmp_path / "run" / name)
