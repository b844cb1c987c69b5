"""The log of events looks at the memory in use now and then, and never for more than a thousandth of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from samebits.core.observing import clock
from samebits.core.observing.events import Metric
from samebits.data import event_log
from samebits.data.event_log import EventLog


@pytest.mark.parametrize(("look_seconds", "looks"), [(0.00001, 24), (0.002, 5)])
def test_a_look_at_the_memory_is_followed_by_a_thousand_times_as_long_without_or_a_tenth_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look_seconds: float, looks: int
) -> None:
    now = 0.0

    def look() -> int:
        nonlocal now
        now += look_seconds
        return 1

    monkeypatch.setattr(event_log, "memory_of_all", look)
    monkeypatch.setattr(clock, "seconds", lambda: now)
    log = EventLog(tmp_path / "events.jsonl")
    while now < 10.0:
        log(Metric("loss", 1.0))
        now += 0.01
    log.close()
    lines = [json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert lines.count("Memory") == pytest.approx(looks, abs=2)


def test_events_are_there_for_others_soon_however_long_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They waited for the next look at the memory: a tenth of the run."""
    now = 0.0
    monkeypatch.setattr(event_log, "memory_of_all", lambda: 1)
    monkeypatch.setattr(clock, "seconds", lambda: now)
    log = EventLog(tmp_path / "events.jsonl")
    for step in range(1000):  # a hundred seconds
        log(Metric("loss", float(step)))
        now += 0.1
    seen = (tmp_path / "events.jsonl").read_text().splitlines()
    log.close()
    assert json.loads(seen[-1])["value"] == 999.0
