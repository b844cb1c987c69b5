"""The progress line says rates in what a stage counts."""

from __future__ import annotations

import pytest

from samebits.cli.progress import PlainProgress
from samebits.core import clock
from samebits.core.events import ShardDone, StageStarted


@pytest.mark.parametrize(
    ("unit", "shown"), [("bytes", "2.0 kB/s, 3 s left"), ("rows", "2,000 rows/s, 3 s left")]
)
def test_the_rate_of_a_stage_is_in_its_unit(
    unit: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(clock, "seconds", lambda: now)
    progress = PlainProgress(show=True, warn=True, verbose=False)
    progress(StageStarted("score", 2, 26_000, unit))
    now = 10.0
    progress(ShardDone("score", 0, 20_000, 0.0, 10.0, "serial", "", resumed=False))
    assert f"score: 1/2 shards, {shown}" in capsys.readouterr().err
