"""A run of a million steps is as light as a short one: quick to open, little memory, small messages."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.serve.conftest import Served, serving, until
from tests.serve.test_charts import steps_of_a_log

from samebits.core.observing.events import StageStarted
from samebits.data.event_log import event_line

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STEPS = 1_000_000
MOST_MEMORY = 150e6


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of a million steps that seems to go on."""
    folder = tmp_path_factory.mktemp("scale")
    journal = folder / "long.journal"
    journal.mkdir()
    (journal / "lock").write_text(str(os.getpid()))
    (journal / "plan.json").write_text('{"job": "lm"}')
    with (journal / "events.jsonl").open("wb") as file:
        file.write(event_line(StageStarted("train", STEPS, STEPS * 512, "tokens", "steps")))
        for start in range(0, STEPS, 50_000):
            file.write(steps_of_a_log(start, start + 50_000))
    return folder


def loss_of(served: Served, key: str) -> list[list[float]]:
    found = served.json(f"/api/v1/runs/{key}/curves")
    return list(found["loss"]["lines"]["training"]) if "loss" in found else []


@pytest.mark.slow
def test_a_million_steps_open_within_a_second_and_in_little_memory(browser: Browser, long_run: Path) -> None:
    """The page is there within a second of its first opening; the best of three servers, because the machine may be busy."""
    opened = []
    for _ in range(3):
        with serving(long_run) as served:
            key = served.key("long")
            page = browser.new_page()
            started = time.monotonic()
            page.goto(f"{served.url}/runs/{key}")
            page.get_by_role("link", name="Compare").first.wait_for()
            opened.append(time.monotonic() - started)
            page.close()
            until(lambda: (points := loss_of(served, key)) and points[-1][0] > STEPS - 5000, 60)  # noqa: B023
            points = loss_of(served, key)
            memory = psutil.Process(served.process.pid).memory_info().rss
        assert 200 < len(points) <= 512
        assert memory < MOST_MEMORY
        if min(opened) < 1.0:
            return
    raise AssertionError(f"opened in {opened} s")
