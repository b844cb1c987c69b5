"""What a command loads and how it ends: both are most of the time of a short one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

# Each of these costs a start between 2 and 150 ms, and a training from JSON lines on one worker uses none of them.
NOT_NEEDED = (
    *("asyncio", "concurrent.futures", "csv", "dask", "distributed", "email", "http", "importlib.metadata", "loky"),
    *("logging", "msgspec", "multiprocessing", "psutil", "pyarrow", "random", "ray", "rich", "shutil", "socket", "ssl"),
    *("subprocess", "tempfile", "threadpoolctl", "tokenizers", "tomllib", "torch", "zipfile"),
    *("samebits.core.fold", "samebits.data.readers.csv_rows", "samebits.data.readers.parquet_rows", "samebits.langid.training.backoff"),
    *("samebits.langid.model.features", "samebits.kernels.langid.score"),
)  # fmt: skip
PROGRAM = """
import atexit, sys, threading, time
from samebits.__main__ import main
atexit.register(lambda: print("|".join(sorted(sys.modules)), end=""))
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
main()
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )


@cache
def of_numpy() -> frozenset[str]:
    """What NumPy itself loads: version 1.26 takes ``random`` with it."""
    program = "import sys, numpy; print('|'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.strip().split("|"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [{"text": "good morning", "lang": "en"}, {"text": "guten Morgen", "lang": "de"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_training_from_json_lines_loads_only_what_it_uses(rows: Path, tmp_path: Path) -> None:
    done = run(
        "langid", "train", str(rows), "-o", str(tmp_path / "model"), "--mode", "exact", "-q", "-w", "1"
    )
    loaded = done.stdout.removeprefix("thread\n").split("|")
    assert "samebits.langid.training.exact" in loaded
    assert [name for name in NOT_NEEDED if name in loaded and name not in of_numpy()] == []


def test_threads_are_started_without_what_they_do_not_need(rows: Path, tmp_path: Path) -> None:
    flags = ("-t", "byte", "-q", "-w", "2", "--cell-mb", "0.00001")
    loaded = run("tokens", "build", str(rows), "-o", str(tmp_path / "store"), *flags).stdout.split("|")
    assert "samebits.executors.threads" in loaded
    not_needed = {"concurrent.futures", "logging", "html", "random", "shutil"}
    assert sorted((not_needed - of_numpy()).intersection(loaded)) == []


def test_a_tokenizer_file_that_was_probed_is_read_without_what_it_does_not_need(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tokenizer = str(tmp_path / "tokenizer")
    run("tokens", "train-tokenizer", str(rows), "-o", tokenizer, "-q", "--vocab-size", "262")
    for store in ("probed", "again"):
        done = run("tokens", "build", str(rows), "-o", str(tmp_path / store), "-t", tokenizer, "-q")
        assert (tmp_path / store / "train.bin").is_file(), done.stderr
    not_needed = {"msgspec", "shutil", "tokenizers", "samebits.data.token_store"}
    assert sorted((not_needed - of_numpy()).intersection(done.stdout.split("|"))) == []


def test_a_command_waits_for_threads_then_runs_exit_functions_and_flushes(rows: Path, tmp_path: Path) -> None:
    done = run("langid", "train", str(rows), "-o", str(tmp_path / "model"), "-q")
    assert done.stdout.startswith("thread\n")
    assert done.stdout.endswith("|zlib")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_exit_code_of_a_failed_command_survives(tmp_path: Path) -> None:
    done = run("langid", "train", str(tmp_path / "none.jsonl"), "-o", str(tmp_path / "model"))
    assert done.returncode == 1
    assert "no such file" in done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("good morning\n" * 50_000)
    command = [
        sys.executable,
        "-m",
        "samebits",
        "count",
        str(texts),
        "-o",
        str(tmp_path / "counts"),
        "--json",
    ]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_that_finds_no_room_is_named() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "samebits", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "error: cannot print: No space left on device\nhint: send the output to another disk\n"
    )


def test_a_profiler_has_the_last_word() -> None:
    command = [sys.executable, "-m", "cProfile", "-m", "samebits", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "function calls" in done.stdout
