"""The demo: the whole of it on the package's samples, and what it says about itself is true."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from samebits import pipeline
from samebits.cli.app import run as run_command
from samebits.cli.commands import demo, demo_ways
from samebits.cli.commands.demo_data import ENCODINGS, write_world
from samebits.cli.commands.demo_story import story
from samebits.errors import ParityError


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
def test_the_demo_shows_results_and_one_digest_and_its_last_lines_work(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("model.steps=2", "model.sample_tokens=5", "untrained.sample_tokens=5")
    monkeypatch.setattr(demo, "QUICK", small)
    monkeypatch.setattr(demo_ways, "WAYS", (demo_ways.WAYS[0], demo_ways.WAYS[3]))
    folder = tmp_path / "demo"
    arguments = ["demo", "--quick", "--no-progress", "-w", "1", "-o", str(folder)]
    assert run_command([*arguments, "--with", str(repo / "benchmarks" / "records")]) == 0
    shown = capsys.readouterr().out
    assert "169 of 169 files decoded" in shown
    assert "112 of 115 wrong labels found" in shown
    assert "the same 2 ways" in shown
    assert max(map(len, shown.partition("look:")[0].splitlines())) <= 80, "a terminal of 80 columns"
    page = (folder / "report.html").read_text(encoding="utf-8")
    sections = "runs parity peers timeline lm langid charset tokens machine"
    for section in sections.split():
        assert f'<section id="{section}">' in page
    for line in demo.closing_lines(folder):
        assert line in shown
        assert run_command(shlex.split(line)[1:]) == 0
    capsys.readouterr()


def test_the_whole_recipe_can_be_read(tmp_path: Path) -> None:
    """The parser is trained by the demo in full only, which takes too long for a test."""
    write_world(tmp_path / "world")
    (tmp_path / "world" / "story.txt").write_text(story())
    (tmp_path / "recipe.toml").write_text(demo.TEXT.format(name="x") + demo.MODEL + demo.PARSER)
    names = [stage.name for stage in pipeline.load(tmp_path / "recipe.toml").stages]
    assert names[-3:] == ["expressions", "parser", "parsed"]


def test_two_digests_end_the_demo_with_the_code_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = [demo_ways.WayResult(way, digest, 1.0) for way, digest in zip(demo_ways.WAYS, "ab", strict=False)]
    for name in ("_show_results", "_show_words", "write_world", "story"):
        monkeypatch.setattr(demo, name, lambda *_: "")
    monkeypatch.setattr(demo, "_write_report", lambda *_: "page")
    monkeypatch.setattr(demo, "compute_ways", lambda *_: ways)
    monkeypatch.setattr("samebits.pipeline.run", lambda *_, **__: None)
    (tmp_path / "world").mkdir()
    assert run_command(["demo", "-o", str(tmp_path)]) == ParityError.exit_code
    assert "the digests differ" in capsys.readouterr().err


def test_the_story_is_long_enough_and_the_same_every_time() -> None:
    text = story()
    assert text == story()
    assert 200_000 < len(text.encode()) < 400_000
    assert "{" not in text
