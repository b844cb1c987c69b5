"""Jobs that train, as commands under torchrun: the artifact of one process, written by rank 0 alone, the others silent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.lockstep.launch import LONG, start, torchrun

from samebits import api
from samebits.core.config import make_config
from samebits.core.options import RunOptions
from samebits.data.artifact import open_artifact
from samebits.jobs import get_job
from samebits.lockstep.parent.checkpoints import steps_in

pytest.importorskip("torch")
LM = ["lm", "train", "book.txt", "--preset", "tiny", "--block", "16", "--width", "32", "--batch", "8"]
LM += ["--steps", "120", "--validate-every", "60", "--sample-every", "60", "--sample-tokens", "8"]
GRAPH = ["graph", "train", "math", "--steps", "3", "--width", "16", "--batch", "16", "--shards", "4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A little text and a few graphs."""
    found = tmp_path_factory.mktemp("torchrun")
    text = "The tide turns, the boats come home, and nobody counts them. "
    (found / "book.txt").write_text("".join(f"{i}. {text}" for i in range(60)))
    config = make_config(get_job("graph_generate").Config, {"level": 1, "n": 60})
    api.run("graph_generate", config, output=found / "math", options=RunOptions(workers="1"))
    return found


def command(arguments: list[str], folder: Path, output: str) -> str:
    """Run a command with one worker; return the digest of what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "samebits", *arguments, "-o", output, "-w", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return open_artifact(folder / output).digest


@pytest.fixture(scope="module")
def lm_digest(folder: Path) -> str:
    return command(LM, folder, "lm")


@pytest.fixture(scope="module")
def graph_digest(folder: Path) -> str:
    return command(GRAPH, folder, "graph")


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 3])  # two of them: below, after a loss
def test_lm_train_writes_the_artifact_of_one_process(world: int, folder: Path, lm_digest: str) -> None:
    check(LM, world, folder, lm_digest, name="lm")


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 2, 3])
def test_graph_train_writes_the_artifact_of_one_process(world: int, folder: Path, graph_digest: str) -> None:
    check(GRAPH, world, folder, graph_digest, name="graph")


def check(arguments: list[str], world: int, folder: Path, digest: str, *, name: str) -> None:
    output = f"{name}-{world}"
    whole = ["-m", "samebits", *arguments, "-o", output]
    if world == 2:  # by torchrun itself
        done = torchrun(world, *whole, folder=folder)
        assert done.returncode == 0, done.stderr
        errors = done.stderr
    else:
        errors = run_ranks(world, whole, folder)
    assert open_artifact(folder / output).digest == digest
    assert errors.count("written to") == 1, "rank 0 speaks for all"
    record = json.loads((folder / output / "record.json").read_bytes())
    assert (record["executor"], record["workers"]) == ("torchrun", world)
    assert not (folder / f"{output}.journal").exists()


def run_ranks(world: int, command: list[str], folder: Path) -> str:
    """Run a command in ranks; return what they said."""
    ranks = start(world, command, folder=folder)
    said = [rank.communicate(timeout=LONG)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * world, said
    return "".join(said)


@pytest.mark.slow
def test_a_killed_rank_is_named_and_the_command_goes_on_with_fewer_ranks(
    folder: Path, lm_digest: str
) -> None:
    slow = [*LM, "--save-every", "1", "-o", "killed"]
    checkpoints = folder / "killed.journal" / "checkpoints"
    ranks = start(3, ["-m", "samebits", *slow], folder=folder)
    until = time.monotonic() + 90
    while not steps_in(checkpoints) and time.monotonic() < until:
        time.sleep(0.01)
    workers = psutil.Process(ranks[2].pid).children()
    os.kill(ranks[2].pid, signal.SIGKILL)
    errors = [rank.communicate(timeout=60)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [1, 1, -signal.SIGKILL]
    assert "error: rank 2 (shards " in errors[0], errors
    assert "hint: give the same torchrun command again, with any number of ranks" in errors[0]
    psutil.wait_procs(workers, timeout=10)
    assert not any(process.is_running() for process in workers)
    said = run_ranks(2, ["-m", "samebits", *slow], folder)
    assert "continuing after step" in said
    assert open_artifact(folder / "killed").digest == lm_digest
