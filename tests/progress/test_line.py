"""The progress line: rates in what a stage counts, steps as steps, and never wider than the window."""

from __future__ import annotations

import io
import os
import re
import shutil

import pytest

from samebits.core.observing import clock
from samebits.core.observing.events import Event, Metric, ShardDone, StageDone, StageStarted, Warned
from samebits.lockstep.logs.told import TrainingTold
from samebits.lockstep.parent.events import FitStarted, StepDone
from samebits.progress.line import LiveProgress, PlainProgress


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(clock, "seconds", lambda: self.now)


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize(
    ("unit", "shown"), [("bytes", "3 s left, 2.0 kB/s"), ("rows", "3 s left, 2,000 rows/s")]
)
def test_the_rate_of_a_stage_is_in_its_unit(
    unit: str, shown: str, timer: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = PlainProgress(show=True, warn=True, verbose=False)
    progress(StageStarted("score", 2, 26_000, unit))
    timer.now = 10.0
    progress(ShardDone("score", 0, 20_000, 0.0, 10.0, "serial", "", resumed=False))
    assert f"score: 1/2 shards, {shown}" in capsys.readouterr().err


def test_a_training_shows_steps_and_a_resume_counts_all_steps_before_it(timer: Clock) -> None:
    told: list[Event] = []
    watch = TrainingTold(told.append, unit="examples", units_per_step=64)
    watch(FitStarted(800, 1000, 10, 2, 0))
    watch(StepDone(800, 0.5, 0.25, 0.001, 0, 1.0, 0.1, 64))
    progress = PlainProgress(show=True, warn=False, verbose=False)
    for event in told:
        progress(event)
    timer.now = 1.0
    said = progress._stage.said()
    assert said[0] == "801/1000 steps"
    assert said[1] == "loss 0.5000"
    assert said[2:4] == ["3 min 19 s left", "64 examples/s"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_live_line_fits_the_window(columns: int, timer: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
    progress = LiveProgress(verbose=False)
    progress(StageStarted("train", 10_000, 640_000_000, "tokens", "steps"))
    for step in range(40):
        timer.now += 1.0
        progress(Metric("loss", 4.123456))
        progress(Metric("val_loss", 4.123456))
        progress(ShardDone("train", step, 64_000, 0.0, 1.0, "", "", resumed=False))
    progress(Warned("something to know"))
    drawn = re.split(r"\r\x1b\[2K|\n", screen.getvalue())
    assert max(map(len, drawn)) < columns
    assert "note: something to know" in drawn
    assert any("39/10000 steps" in line for line in drawn)


def test_the_live_line_is_gone_when_its_stage_is_done(timer: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline prints a line for each stage: it must not begin behind the bar."""
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    progress = LiveProgress(verbose=False)
    progress(StageStarted("count", 2, 100, "bytes"))
    assert "0/2 shards" in screen.getvalue()
    timer.now += 1.0
    progress(StageDone("count", 1.0))
    assert screen.getvalue().endswith("\r\x1b[2K")
