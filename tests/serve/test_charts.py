"""A page that is told increments has the same chart as one that loads it whole, and is told little."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from samebits.core.observing.events import StageStarted
from samebits.data.event_log import event_line
from samebits.serve.live.charts import LiveChart, Series
from samebits.serve.live.load import Cores
from samebits.serve.live.watch import Watcher
from samebits.serve.runs.about import Abouts
from samebits.serve.runs.places import Places


def lines_of(svg: str) -> list[str]:
    return re.findall(r'<polyline class="line s\d" points="([^"]*)"', svg)


def test_increments_give_the_same_lines_as_the_whole_drawing() -> None:
    chart, mark, have, wholes = LiveChart("loss", "Loss", "step"), None, [""], 0
    points = [(0.0, 4.2)]
    for step in range(1, 400):
        points.append((float(step), 4 * math.exp(-step / 100) + 0.1 * math.sin(step)))
        chart.update([Series("training", list(points), 0)], x_end=400.0)
        news = chart.since(mark)
        assert news is not None
        if "svg" in news:
            have, wholes = lines_of(news["svg"]), wholes + 1
        for number, start, text in news.get("lines", []):
            have[number] = " ".join([*have[number].split()[:start], text])
        assert have == lines_of(str(chart.svg()))
        mark = chart.mark()
    assert chart.since(mark) is None
    assert wholes < 20  # a falling loss needs a new frame now and then, not every time


def test_a_final_chart_fits_its_points() -> None:
    chart = LiveChart("memory", "Memory", "seconds")
    chart.update([Series("a", [(1.0, 10.0), (7.0, 20.0)], 0)], final=True)
    assert chart.frame is not None
    assert (chart.frame.x_low, chart.frame.x_high) == (0.0, 7.0)


def steps_of_a_log(start: int, stop: int) -> bytes:
    step = (
        b'{"event":"Metric","name":"loss","value":%.6f}\n{"event":"ShardDone","stage":"train","index":%d,"num_units":1,'
        b'"started":%.2f,"seconds":0.01,"worker":"","digest":"","resumed":false}\n'
    )
    return b"".join(step % (2 + math.exp(-k / 9000), k, k / 100) for k in range(start, stop))


def test_a_message_does_not_grow_with_history(tmp_path: Path) -> None:
    """100 steps between two looks cost the same after 2,000 steps and after 200,000."""
    journal = tmp_path / "model.journal"
    journal.mkdir()
    (journal / "lock").write_text(str(os.getpid()))
    (place,) = Places(tmp_path).all()
    watcher = Watcher(place, Abouts(), Cores())
    assert watcher.state == "running"
    place.events.write_bytes(event_line(StageStarted("train", 300_000, 300_000, "tokens", "steps")))
    sizes, step = {}, 0
    for target in (2_000, 200_000):
        with place.events.open("ab") as file:
            file.write(steps_of_a_log(step, target))
        watcher.look()
        while watcher.reading:
            watcher.look()
        since, step = watcher.published[-1].version, target + 100
        with place.events.open("ab") as file:
            file.write(steps_of_a_log(target, step))
        watcher.look()
        news, full = watcher.message(since)[0], watcher.message(0)[0]
        assert news is not None
        assert full is not None
        sizes[target] = len(news), len(full)
    assert sizes[200_000][0] <= max(1500, sizes[2_000][0])
    assert sizes[200_000][1] < 60_000
