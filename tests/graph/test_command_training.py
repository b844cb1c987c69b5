"""graph generate, train, predict and eval from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fuzz.genuine import MAKERS

if TYPE_CHECKING:
    from tests.command_line import Run


@pytest.mark.slow
def test_from_examples_to_a_judged_model(
    samebits: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = samebits(
        "graph", "generate", "--level", "2", "--depths", "1:1", "-n", "300", "-o", "math", "-x", "serial"
    )
    assert made.code == 0
    assert "level 2: " in made.err
    small = ("--steps", "4", "--batch", "8", "--width", "16", "--validate-every", "0")
    trained = samebits("graph", "train", "math", "-o", "model", *small, "-w", "1")
    assert trained.code == 0
    assert "weights" in trained.err
    Path("texts.txt").write_text("2 + 3\n\nthe sum of 4 and 5\n")
    predicted = samebits("graph", "predict", "texts.txt", "-m", "model", "-w", "1")
    rows = [json.loads(line) for line in predicted.out.splitlines()]
    assert [row["text"] for row in rows] == ["2 + 3", "the sum of 4 and 5"]
    assert all(("result" in row) == row["well_formed"] for row in rows)
    judged = samebits("graph", "eval", "math", "-m", "model", "-o", "judged", "-x", "serial")
    assert judged.code == 0
    assert "exact match" in judged.out
    report = json.loads(Path("judged/report.json").read_text())
    assert [row["key"] for row in report["by_depth"]] == [1]
    assert len(Path("judged/wrong.jsonl").read_text().splitlines()) == round(
        report["examples"] * (1 - report["exact_match"])
    )


def test_a_bad_line_is_named_with_its_number(
    samebits: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"text": "2", "graph": {"nodes": []}}\n{"text": 3}\n')
    failed = samebits("graph", "train", "rows.jsonl", "-o", "model", "--batch", "4", "-w", "1")
    assert failed.code == 1
    assert "rows.jsonl, line 2" in failed.err


@pytest.mark.slow
def test_none_of_it_needs_torch(tmp_path: Path) -> None:
    """Training, judging and predicting in processes where importing torch raises; workers inherit the ban."""
    (tmp_path / "torch.py").write_text("raise ImportError('torch is banned here')\n")
    model = MAKERS["graph"](tmp_path / "made")
    math = str(model.with_suffix(".data"))
    (tmp_path / "texts.txt").write_text("2 + 3\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    small = ["--steps", "3", "--batch", "8", "--width", "16", "-w", "2"]
    for words in (
        ["train", math, "-o", str(tmp_path / "model"), *small],
        ["eval", math, "-m", str(tmp_path / "model"), "-o", str(tmp_path / "judged"), "-w", "1"],
        ["predict", str(tmp_path / "texts.txt"), "-m", str(tmp_path / "model")],
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "samebits", "graph", *words],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["text"] == "2 + 3"
