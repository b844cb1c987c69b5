"""Training: the same weights for any number of workers, kills, resumes, and what a run leaves behind."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from tests.lm.conftest import make_text

from samebits import api, lm
from samebits.core.config import make_config
from samebits.core.observing.events import Event, Metric, Warned, ignore
from samebits.core.observing.record import RunRecord
from samebits.core.options import RunOptions
from samebits.errors import ConfigError, EnvironmentMismatch, InputError, Interrupted, SamebitsError
from samebits.lm.config import LmConfig
from samebits.lm.model.definition import record
from samebits.lockstep.logs.tensorboard import read_scalars

pytestmark = pytest.mark.slow
TINY: dict[str, Any] = {
    "layers": 2,
    "heads": 2,
    "width": 16,
    "block": 8,
    "batch": 14,
    "shards": 7,
    "steps": 8,
    "validate_every": 4,
    "sample_every": 4,
    "sample_tokens": 20,
    "tensorboard": False,
}


def train(data: Path, output: Path, *, workers: int, observer: Any = ignore, **settings: Any) -> RunRecord:
    config = make_config(LmConfig, {"inputs": [str(data)], **TINY, **settings})
    return api.run("lm", config, output=output, options=RunOptions(workers=str(workers)), observer=observer)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, RunRecord]:
    """A text, and an undisturbed run of one worker on it."""
    folder = tmp_path_factory.mktemp("lm")
    data = folder / "mill.txt"
    data.write_text(make_text(), encoding="utf-8")
    return data, folder / "run", train(data, folder / "run", workers=1, dropout=0.1)


@pytest.mark.parametrize("workers", [3, 7])
def test_the_artifact_is_the_same_for_any_number_of_workers(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path, workers: int
) -> None:
    data, _, first = scene
    record = train(data, tmp_path / "run", workers=workers, dropout=0.1)
    assert record.workers == workers
    assert record.metrics["state_digest"] == first.metrics["state_digest"]
    assert record.artifact_digest == first.artifact_digest


def test_torch_computes_where_it_is_asked_to_and_nowhere_else(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    found = [
        train(scene[0], tmp_path / str(workers), workers=workers, arithmetic="torch", steps=2)
        for workers in (1, 2)
    ]
    assert found[0].metrics["state_digest"] == found[1].metrics["state_digest"]
    assert found[0].metrics["compute"] == "eager"
    ours = train(scene[0], tmp_path / "ours", workers=1, steps=2)
    assert ours.metrics["compute"] == "portable"
    assert ours.metrics["state_digest"] != found[0].metrics["state_digest"]
    assert abs(ours.metrics["train_loss"] - found[0].metrics["train_loss"]) < 1e-4


def test_training_does_not_import_torch(scene: tuple[Path, Path, RunRecord], tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from samebits.__main__ import main; sys.exit(main())"
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['torch'] = None\n"
    )  # in the workers too
    output = tmp_path / "run"
    arguments = [*command(scene[0], output, 2)[3:]]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=environment)
    assert json.loads((output / "manifest.json").read_text())["digest"] == scene[2].artifact_digest


def test_the_classic_block_with_adamw_has_the_same_state_for_one_and_two_workers(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    found = [train(scene[0], tmp_path / str(workers), workers=workers, kind="classic") for workers in (1, 2)]
    assert found[0].metrics["state_digest"] == found[1].metrics["state_digest"]
    assert found[0].artifact_digest != scene[2].artifact_digest


def test_a_run_leaves_weights_logs_samples_and_nothing_else(scene: tuple[Path, Path, RunRecord]) -> None:
    _, run, record = scene
    names = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert names == {
        *("bad_rows.jsonl", "config.json", "events.jsonl", "loss.svg", "manifest.json", "model.safetensors"),
        *("record.json", "steps.jsonl", "val.jsonl", "vocab.json"),
        *("samples/final.txt", "samples/step-000004.txt", "samples/step-000008.txt"),
    }
    steps = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    assert [row["step"] for row in steps] == list(range(8))
    assert steps[-1]["loss"] == float.fromhex(steps[-1]["loss_hex"]) == record.metrics["train_loss"]
    validations = [json.loads(line) for line in (run / "val.jsonl").read_text().splitlines()]
    assert [row["step"] for row in validations] == [4, 8]
    assert validations[-1]["loss"] == float.fromhex(validations[-1]["loss_hex"]) == record.metrics["val_loss"]
    assert list(run.parent.glob("run.*")) == []


def test_evaluation_of_the_validation_part_is_the_last_validation(
    scene: tuple[Path, Path, RunRecord],
) -> None:
    data, run, record = scene
    found = lm.evaluate(lm.LanguageModel.load(run), [str(data)], part="val")
    assert abs(found.loss - record.metrics["val_loss"]) < 1e-6
    assert found.bits_per_byte is not None


def test_a_loaded_model_writes_the_sample_of_its_training(scene: tuple[Path, Path, RunRecord]) -> None:
    _, run, _ = scene
    model = lm.LanguageModel.load(run)
    text = model.generate("", tokens=20, temperature=0.8, seed=1337)
    assert text + "\n" == (run / "samples" / "final.txt").read_text()
    assert "".join(model.stream("The ", tokens=9, seed=3)) == model.generate("The ", tokens=9, seed=3)
    with pytest.raises(InputError, match=r"character '\?' at position 3"):
        model.generate("The?")
    assert len(model.generate("The?", tokens=5, unknown="skip")) == 5


def test_the_exported_weights_load_without_the_package(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    model = lm.LanguageModel.load(scene[1])
    lm.export(model, tmp_path / "out", "safetensors")
    loaded = runpy.run_path(str(tmp_path / "out" / "load.py"))["load"](str(tmp_path / "out"))
    x = np.arange(16).reshape(2, 8) % model.arch.vocab
    program = record(model.arch, model.params)
    for row, theirs in zip(x, loaded(torch.from_numpy(x)).detach().numpy(), strict=True):
        assert np.abs(program.logits(row) - theirs).max() < 1e-5


@pytest.mark.parametrize(("name", "reason"), [("gpt2", "norm is rms"), ("llama", "activation is relu2")])
def test_a_format_that_cannot_say_the_model_is_refused(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path, name: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        lm.export(lm.LanguageModel.load(scene[1]), tmp_path / "out", name)
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    with pytest.raises(SamebitsError, match="not finite at step") as error:
        train(
            scene[0], tmp_path / "run", workers=1, optimizer="adamw", lr=1e6, muon_lr=1e6, clip=0.0, warmup=0
        )
    assert type(error.value).__name__ == "NotFinite"


def test_more_workers_than_shards_are_not_started_and_that_is_said(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    record = train(scene[0], tmp_path / "run", workers=9, shards=1, steps=1, sample_every=0, validate_every=0)
    assert (record.workers, record.why_workers) == (1, "1 worker: 9 requested, only 1 shard")


def dawdle(event: Event) -> None:
    """Hear of every event late, as on a busy machine: workers wait at each checkpoint, so a stop is seen before the end."""
    time.sleep(0.05)


def test_a_stopped_run_continues_with_other_workers_and_skips_a_truncated_checkpoint(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    data, _, first = scene
    output = tmp_path / "run"
    with pytest.raises(Interrupted, match="stopped after"):
        train(data, output, workers=2, observer=dawdle, dropout=0.1, save_every=2, max_seconds=1e-9)
    checkpoints = sorted((tmp_path / "run.journal" / "checkpoints").glob("step-*"))
    assert checkpoints
    largest = max((path for path in checkpoints[-1].iterdir()), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.truncate(largest.stat().st_size // 2)
    said: list[Event] = []
    record = train(data, output, workers=1, observer=said.append, dropout=0.1, save_every=2)
    assert record.artifact_digest == first.artifact_digest
    assert any(isinstance(event, Warned) and checkpoints[-1].name in event.message for event in said)


def test_a_run_goes_on_with_another_instruction_set(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _, first = scene
    with pytest.raises(Interrupted):
        train(data, tmp_path / "run", workers=1, dropout=0.1, save_every=2, max_seconds=1e-9)
    monkeypatch.setenv("SAMEBITS_ISA", "scalar")
    record = train(data, tmp_path / "run", workers=2, dropout=0.1)
    assert record.artifact_digest == first.artifact_digest
    assert record.metrics["exact"] is True


def test_a_checkpoint_of_another_arithmetic_is_refused_by_name(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    output = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(scene[0], output, workers=1, dropout=0.1, save_every=2, max_seconds=1e-9)
    for path in (tmp_path / "run.journal" / "checkpoints").glob("step-*/state.json"):
        state = json.loads(path.read_text())
        assert state["fingerprint"] == {"arithmetic": "1", "compute": "portable"}
        state["fingerprint"]["arithmetic"] = "another one"
        path.write_text(json.dumps(state))
    with pytest.raises(EnvironmentMismatch, match="another one"):
        train(scene[0], output, workers=1, dropout=0.1)
    record = train(scene[0], output, workers=1, dropout=0.1, allow_environment_change=True)
    assert record.metrics["exact"] is False


def command(data: Path, output: Path, workers: int) -> list[str]:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items() if name != "tensorboard"]
    return [
        *(sys.executable, "-m", "samebits", "lm", "train", str(data), "-o", str(output), "-w", str(workers)),
        *(*flags, "--no-tensorboard", "--dropout=0.1", "--save-every=1", "--quiet"),
    ]


def test_a_killed_parent_leaves_no_worker_and_the_same_command_gives_the_same_digest(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    data, _, first = scene
    output = tmp_path / "run"
    checkpoints = tmp_path / "run.journal" / "checkpoints"
    process = subprocess.Popen(command(data, output, 2))
    workers: list[psutil.Process] = []
    while process.poll() is None and not list(checkpoints.glob("step-*")):
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    if not output.exists():
        subprocess.run(command(data, output, 3), check=True)
    assert json.loads((output / "manifest.json").read_text())["digest"] == first.artifact_digest


def test_ctrl_c_saves_a_checkpoint_whoever_handles_it_and_the_same_command_continues(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    data, _, first = scene
    output = tmp_path / "run"

    def interrupt(event: Event) -> None:
        if isinstance(event, Metric) and event.name == "loss" and not handled:
            handled.append(event)
            signal.raise_signal(signal.SIGINT)

    def handler(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    handled: list[Event] = []
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(Interrupted, match="checkpoints are kept"):
            train(data, output, workers=1, observer=interrupt, dropout=0.1)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert list((tmp_path / "run.journal" / "checkpoints").glob("step-*"))
    assert train(data, output, workers=1, dropout=0.1).artifact_digest == first.artifact_digest


def test_a_killed_worker_is_replaced_and_the_digest_is_the_same(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    data, _, first = scene
    killed: list[int] = []
    said: list[str] = []

    def kill_one(event: Event) -> None:
        if isinstance(event, Metric) and event.name == "loss" and not killed:
            children = psutil.Process().children(recursive=True)
            worker = next(child for child in children if "lockstep.worker" in " ".join(child.cmdline()))
            killed.append(worker.pid)
            worker.kill()
        if isinstance(event, Warned):
            said.append(event.message)

    record = train(data, tmp_path / "run", workers=2, observer=kill_one, dropout=0.1, save_every=1)
    assert killed
    assert record.artifact_digest == first.artifact_digest
    assert any("starting again" in message for message in said) or record.metrics["steps"] == 8


def test_tensorboard_files_lie_beside_the_run_and_hold_every_step(
    scene: tuple[Path, Path, RunRecord], tmp_path: Path
) -> None:
    model = lm.train(
        scene[0], output=tmp_path / "run", options=RunOptions(workers="1"), **{**TINY, "tensorboard": True}
    )
    (path,) = (tmp_path / "run.tb").iterdir()
    scalars = list(read_scalars(path))
    steps = [scalar.step for scalar in scalars if scalar.tag == "loss/train"]
    assert steps == list(range(1, 9))
    last = [scalar.value for scalar in scalars if scalar.tag == "loss/val"][-1]
    assert np.float32(model.about["val_loss"]) == np.float32(last)
