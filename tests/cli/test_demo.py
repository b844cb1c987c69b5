"""The demo: the whole of it on the package's samples, and what it says about itself is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from samebits.cli.app import run as run_command
from samebits.cli.commands import demo
from samebits.cli.commands.demo_data import ENCODINGS, write_world
from samebits.errors import ParityError

pytest.importorskip("torch", reason="the demo trains a language model: pip install 'samebits[torch]'")


def test_the_world_is_the_same_every_time_and_truth_says_what_is_what(tmp_path: Path) -> None:
    made = [write_world(tmp_path / name) for name in ("a", "b")]
    assert made[0] == made[1]
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    truth = [json.loads(line) for line in (tmp_path / "a" / "truth.jsonl").read_bytes().splitlines()]
    assert len(truth) == made[0]["files"] == sum(file.parts[0] == "raw" for file in files)
    assert {row["encoding"] for row in truth} == {"utf-8", *ENCODINGS.values()}
    rows = (path.read_bytes() for path in (tmp_path / "a" / "raw").rglob("*.txt"))
    assert made[0]["wrong_labels"] * 8 < made[0]["rows"] < made[0]["wrong_labels"] * 13
    assert all(rows)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_ends_with_equal_digests_and_a_page_and_skips_everything_the_second_time(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    least = ("model.steps=2", "model.sample_tokens=5", "parser.steps=2", "expressions.n=400")
    monkeypatch.setattr(demo, "QUICK", least)
    arguments = ["demo", "--quick", "--no-progress", "-w", "2", "-o", str(tmp_path / "demo")]
    arguments += ["--with", str(repo / "benchmarks" / "records")]
    assert run_command(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out.count("  yes\n") == 7
    assert "169 with the right encoding" in shown.out
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    for section in (
        "runs",
        "parity",
        "peers",
        "memory",
        "timeline",
        "lm",
        "graph",
        "langid",
        "charset",
        "tokens",
        "machine",
    ):
        assert f'<section id="{section}">' in page
    assert run_command(arguments) == 0
    assert capsys.readouterr().out.count(" skipped ") == 10

    monkeypatch.setattr(demo, "_repeat", lambda *_: ({"text": "another"}, "1"))
    assert run_command(arguments) == ParityError.exit_code
    assert "NO" in capsys.readouterr().out
