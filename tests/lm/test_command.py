"""samebits lm on the command line: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import Run

pytestmark = pytest.mark.slow
TINY = [
    "--preset=tiny",
    "--layers=1",
    "--width=16",
    "--heads=2",
    "--block=8",
    "--steps=3",
    "--sample-tokens=10",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and a model of three steps on one worker."""
    folder = tmp_path_factory.mktemp("lm")
    text = "".join(f"The mill grinds {n} sacks.\n" for n in range(40))
    (folder / "mill.txt").write_text(text, encoding="utf-8")
    flags = ["lm", "train", "mill.txt", "-o", "run", "-w", "1", *TINY]
    done = subprocess.run(
        [sys.executable, "-m", "samebits", *flags], cwd=folder, capture_output=True, text=True, check=True
    )
    assert re.search(r"validation loss \d\.\d{4}, \d\.\d{4} bits per byte", done.stderr)
    assert re.search(r"^state [0-9a-f]{64}$", done.stderr, re.MULTILINE)
    return folder


def test_a_sample_starts_with_its_prompt_and_is_the_same_for_the_same_seed(
    samebits: Run, place: Path
) -> None:
    flags = ("--prompt", "The mill", "-n", "12", "--seed", "7", "--top-k", "5", "--top-p", "0.9")
    first, second = (samebits("lm", "sample", place / "run", *flags) for _ in range(2))
    assert first.out == second.out
    assert first.out.startswith("The mill")
    found = json.loads(samebits("lm", "sample", place / "run", *flags, "--json").out)
    assert found["prompt"] + found["text"] + "\n" == first.out


def test_an_unknown_character_of_a_prompt_is_named(samebits: Run, place: Path) -> None:
    ended = samebits("lm", "sample", place / "run", "--prompt", "The §")
    assert ended.code == 1
    assert ended.out == "", "a prompt that is refused is not printed"
    assert "character '§' at position 4" in ended.err
    assert "hint: --unknown skip leaves such characters out" in ended.err


def test_evaluation_prints_loss_perplexity_and_bits(samebits: Run, place: Path) -> None:
    found = json.loads(samebits("lm", "eval", place / "run", place / "mill.txt", "--json").out)
    assert found["tokens"] == found["windows"] * 8
    assert found["perplexity"] > 1
    shown = samebits("lm", "eval", place / "run", place / "mill.txt").out
    assert f"loss           {found['loss']:.4f} nats per token" in shown


def test_an_export_says_how_it_was_checked_and_refuses_what_does_not_fit(
    samebits: Run, place: Path, tmp_path: Path
) -> None:
    ended = samebits("lm", "export", place / "run", "-o", tmp_path / "weights")
    assert "load.py reads it with torch alone" in ended.err
    refused = samebits("lm", "export", place / "run", "-o", tmp_path / "gpt2", "--format", "gpt2")
    assert refused.code == 2
    assert "gpt2 cannot say what this model is: norm is rms, not layer" in refused.err


def test_a_dry_run_says_what_is_needed_and_starts_nothing(samebits: Run, place: Path) -> None:
    train = ("lm", "train", place / "mill.txt", "-o", place / "never", "--dry-run", *TINY)
    found = json.loads(samebits(*train, "--json").out)
    assert (found["steps"], found["parameters"] > 0, found["flops"] > 0) == (3, True, True)
    assert "parameters" in samebits(*train).out
    assert list(place.glob("never*")) == []
