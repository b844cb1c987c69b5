"""Pipes, folders, loops of links, huge numbers and deep nesting where a file is expected: an error by name, at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import Run

COMMANDS = {
    "charset detect": ["charset", "detect", "ODD"],
    "pipeline plan": ["pipeline", "run", "ODD", "--dry-run"],
    "config": ["count", "book.txt", "-o", "out", "--config", "ODD"],
    "verify": ["verify", "ODD"],
    "langid import": ["langid", "import", "ODD", "-o", "out"],
    "graph distance": ["graph", "distance", "ODD.json", "ODD.json"],
    "tokenizer": ["tokens", "build", "book.txt", "-o", "out", "--tokenizer", "./ODD"],
    "ids": ["lm", "train", "ODD.bin", "-o", "out"],
}


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_is_no_file_is_named_and_not_waited_for(
    name: str, kind: str, samebits: Run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "ODD", tmp_path / "ODD.json", tmp_path / "ODD.bin"):
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(path.name)
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        ended = samebits(*COMMANDS[name])
    assert ended.code in (1, 2, 3)
    assert "error: " in ended.err
    assert "Traceback" not in ended.err


def test_a_pipe_in_place_of_a_tokenizer_is_not_waited_for_while_the_command_is_imported(
    book: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    command = [
        sys.executable,
        "-m",
        "samebits",
        "tokens",
        "build",
        str(book),
        "-o",
        "out",
        "-t",
        "tokenizer.json",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=30)
    assert ended.returncode == 1
    assert "error: tokenizer.json: not a file" in ended.stderr


@pytest.mark.parametrize("name", ["record.json", "events.jsonl"])
def test_pipes_beside_the_listed_files_of_an_artifact_are_left_alone(
    name: str, samebits: Run, book: Path, tmp_path: Path
) -> None:
    """They can come with a model of a stranger: an archive may hold pipes."""
    out = tmp_path / "counts"
    assert samebits("count", book, "-o", out).code == 0
    (out / name).unlink()
    os.mkfifo(out / name)
    assert samebits("report", out, "-o", tmp_path / "page.html").code == 0
    assert samebits("verify", out).code == 0


@pytest.mark.parametrize(
    "text", ["1" * 1_000_000, "[" * 100_000, '{"nodes": ' + "9" * 1_000_000 + "}", '{"a":' * 50_000, "\x00"]
)
def test_huge_numbers_and_deep_nesting_are_bad_input(text: str, samebits: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    for command in (["graph", "distance", path, path], ["langid", "import", path, "-o", tmp_path / "out"]):
        ended = samebits(*command)
        assert ended.code in (1, 2)
        assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_NOFILE, 12),
        (resource.RLIMIT_AS, 250_000_000),
        (resource.RLIMIT_AS, 180_000_000),  # here no thread could be started
        (resource.RLIMIT_AS, 120_000_000),  # and here NumPy not be loaded
    ],
)
def test_too_few_files_and_too_little_memory_have_a_name(
    limit: int, value: int, book: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "samebits", "count", str(book), "-o", str(tmp_path / "out"), "-w", "2"]
    ended = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(limit, (value, value))
    )
    assert ended.returncode in (0, 1)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0 or "error: " in ended.stderr
