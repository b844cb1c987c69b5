"""The promise: where, how often and in which order shards run never changes a bit of the artifact."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for
from samebits.count.config import CountConfig
from samebits.data.inputs.corpus import CELL_BYTES
from samebits.testing import FailingExecutor, ShuffledExecutor
from samebits.verification import artifacts

SAMPLES = Path(__file__).resolve().parents[2] / "src" / "samebits" / "samples"
PLACES = [
    *[("threads", workers) for workers in ("1", "2", "3", "7", "64")],
    *[("processes", workers) for workers in ("1", "2", "3")],
]
COUNT = """
import os, signal, sys
from samebits.api import run
from samebits.core.observing.events import ShardDone
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
seen = []
def die(event):
    if isinstance(event, ShardDone) and not event.resumed:
        seen.append(event.index)
        if len(seen) == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
config = CountConfig(inputs=(sys.argv[1],), n=2, lower=True)
options = RunOptions(executor=sys.argv[4], workers="2", max_bad="50%")
print(run("count", config, output=sys.argv[2], options=options, observer=die).artifact_digest)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample texts, some bad rows, an empty file, and one text of more than one shard."""
    folder = tmp_path_factory.mktemp("parity") / "corpus"
    folder.mkdir()
    for path in SAMPLES.glob("*.txt"):
        (folder / path.name).write_bytes(path.read_bytes())
    words = rng_for(1, "parity").integers(97, 123, size=(500, 60), dtype=np.uint8)
    text = b" ".join(word.tobytes() for word in words) + b"\n"  # few, long words: quick to count
    (folder / "long.txt").write_bytes(text * (CELL_BYTES * 5 // 4 // len(text)))
    (folder / "bad.txt").write_bytes(b"good row\n\xff bad row\n\n\xc3( bad too\nlast")
    rows = [json.dumps({"text": f"row {i}"}) for i in range(5)] + ["{", '{"other": 1}']
    (folder / "rows.jsonl").write_text("\n".join(rows))
    (folder / "empty.txt").touch()
    return folder


@pytest.fixture(scope="module")
def reference(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The undisturbed serial run."""
    output = tmp_path_factory.mktemp("reference") / "out"
    run("count", config(corpus), output=output, options=options("serial", "1"))
    return output


def config(corpus: Path) -> CountConfig:
    return CountConfig(inputs=(str(corpus),), n=2, lower=True)


def options(executor: str, workers: str) -> RunOptions:
    return RunOptions(executor=executor, workers=workers, max_bad="50%")


def digest_of(output: Path) -> str:
    return artifacts.verify(output).digest


@pytest.mark.parametrize(("executor", "workers"), PLACES)
def test_every_place_and_number_of_workers_gives_the_serial_bits(
    executor: str, workers: str, corpus: Path, reference: Path, tmp_path: Path
) -> None:
    run("count", config(corpus), output=tmp_path / "out", options=options(executor, workers))
    artifacts.compare(reference, tmp_path / "out")  # on a difference it names file and offset


@pytest.mark.parametrize("seed", [0, 1, -1])
def test_an_adversarial_order_gives_the_serial_bits(
    seed: int, corpus: Path, reference: Path, tmp_path: Path
) -> None:
    executor = ShuffledExecutor(seed=seed, workers=5)
    run("count", config(corpus), output=tmp_path / "out", options=options("auto", "1"), executor=executor)
    executor.close()
    artifacts.compare(reference, tmp_path / "out")


def test_lost_workers_give_the_serial_bits(corpus: Path, reference: Path, tmp_path: Path) -> None:
    executor = FailingExecutor({0: 2, 3: 3, 17: 1})
    run("count", config(corpus), output=tmp_path / "out", options=options("auto", "1"), executor=executor)
    artifacts.compare(reference, tmp_path / "out")


def count_elsewhere(
    corpus: Path | str,
    output: Path,
    *,
    die_after: int = -1,
    executor: str = "threads",
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COUNT, str(corpus), str(output), str(die_after), executor],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONHASHSEED": "random", "TZ": "Asia/Kathmandu", "OMP_NUM_THREADS": "2"},
    ],
)
def test_hash_seed_locale_and_time_zone_change_nothing(
    environment: dict[str, str], corpus: Path, reference: Path, tmp_path: Path
) -> None:
    done = count_elsewhere(corpus, tmp_path / "out", environment=environment)
    assert (done.stdout.strip(), done.stderr) == (digest_of(reference), "")


def test_hash_seeds_of_worker_processes_change_nothing(corpus: Path, reference: Path, tmp_path: Path) -> None:
    done = count_elsewhere(
        corpus, tmp_path / "out", executor="processes", environment={"PYTHONHASHSEED": "random"}
    )
    assert (done.stdout.strip(), done.stderr) == (digest_of(reference), "")


def test_the_start_folder_and_the_spelling_of_the_path_change_nothing(
    corpus: Path, reference: Path, tmp_path: Path
) -> None:
    done = count_elsewhere(f"../{corpus.name}/.", tmp_path / "out", cwd=corpus)
    assert (done.stdout.strip(), done.stderr) == (digest_of(reference), "")


@pytest.mark.parametrize(("executor", "parts"), [("threads", 1), ("threads", 20), ("processes", 9)])
def test_a_driver_killed_and_the_same_command_again_give_the_serial_bits(
    executor: str, parts: int, corpus: Path, reference: Path, tmp_path: Path
) -> None:
    killed = count_elsewhere(corpus, tmp_path / "out", die_after=parts, executor=executor)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    record = run("count", config(corpus), output=tmp_path / "out", options=options("serial", "1"))
    assert record.stages["count"]["shards_resumed"] == parts
    artifacts.compare(reference, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
