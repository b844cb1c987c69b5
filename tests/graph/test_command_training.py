"""graph generate, train, predict and eval from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fuzz.genuine import MAKERS

if TYPE_CHECKING:
    from tests.command_line import Run

pytest.importorskip("torch")


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
@pytest.mark.parametrize("command", [("train", "math"), ("predict", "texts.txt"), ("eval", "math")])
def test_without_torch_the_hint_names_the_extra_of_graphs(
    command: tuple[str, str], tmp_path: Path, torchless: dict[str, Path]
) -> None:
    """``predict`` named the extra ``torch``, which brings neither networkx nor sympy."""
    words = ["graph", command[0], str(torchless[command[1]]), "-o", str(tmp_path / "out")]
    words = words[:3] if command[0] == "predict" else words
    words += [] if command[0] == "train" else ["-m", str(torchless["model"])]
    code = "import sys; sys.modules['torch'] = None; from samebits.__main__ import main; sys.exit(main())"
    ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "needs the package 'torch'" in ended.stderr
    assert "hint: pip install 'samebits[graph]'" in ended.stderr


@pytest.fixture(scope="module")
def torchless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model, examples and texts, made with torch."""
    place = tmp_path_factory.mktemp("torchless")
    (place / "texts.txt").write_text("2 + 3\n")
    model = MAKERS["graph"](place / "model")
    return {"model": model, "math": model.with_suffix(".data"), "texts.txt": place / "texts.txt"}
