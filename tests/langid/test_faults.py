"""Disturbed trainings: killed at any moment, without room for a file, without a place to write."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from tests.langid.helpers import golden_rows, write_rows

from samebits.bench.langid_data import write_seed_rows
from samebits.core.seeds import rng_for

ROWS = 25_000  # 4.4 MB: three shards to be killed in


def command(data: Path, output: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "samebits", "langid", "train", str(data), "-o", str(output), "-q", *more]


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def digest_of(folder: Path) -> str:
    return str(json.loads((folder / "manifest.json").read_bytes())["digest"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_seed_rows(path, ROWS)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--mode", "exact", "--cycles", "2"), ("--refine", "2")])
def test_a_training_killed_at_random_moments_ends_in_the_same_digest(
    flags: tuple[str, ...], rows: Path, tmp_path: Path
) -> None:
    subprocess.run(command(rows, tmp_path / "whole", *flags), check=True)
    output, moments = tmp_path / "model", rng_for(0, "langid-kill").uniform(0.2, 1.5, 5).tolist()
    for moment in moments:
        process = subprocess.Popen(command(rows, output, "--overwrite", "-w", "2", *flags))
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        assert process.wait() in (0, -signal.SIGKILL)
    subprocess.run(command(rows, output, "--overwrite", *flags), check=True)
    assert digest_of(output) == digest_of(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [100_000, 1_500_000])
def test_a_disk_without_room_is_named_and_the_same_command_goes_on(
    size: int, rows: Path, tmp_path: Path
) -> None:
    flags = ("--mode", "exact")
    subprocess.run(command(rows, tmp_path / "whole", *flags), check=True)
    limited = subprocess.run(
        command(rows, tmp_path / "model", *flags, "--json"),
        preexec_fn=partial(limit_files, size),  # no thread runs here
        capture_output=True,
        text=True,
    )
    assert limited.returncode == 1
    assert json.loads(limited.stdout)["kind"] == "OutputFailed"
    assert not (tmp_path / "model").exists()
    subprocess.run(command(rows, tmp_path / "model", *flags), check=True)
    assert digest_of(tmp_path / "model") == digest_of(tmp_path / "whole")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "rows.jsonl", golden_rows())
    done = subprocess.run(
        command(data, Path("/proc/samebits/model"), "--json"), capture_output=True, text=True
    )
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["kind"] == "OutputFailed"
    assert "/proc/samebits" in said["error"]
