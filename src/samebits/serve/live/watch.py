"""One watcher for one run: reads what is new, and says what changed since a page's last message.

A watcher works on a thread (``look``); everything it publishes is a new ``Published``, so whoever holds an older one can
be told the difference. Only the last few are kept: a page that fell behind is sent everything, which is bounded too.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from samebits.core.observing import clock
from samebits.serve import words
from samebits.serve.live.charts import LiveChart, Mark, Series
from samebits.serve.live.history import read_history
from samebits.serve.live.load import Cores, RunLoad, TreeLoad
from samebits.serve.live.progress import RunProgress, StageState
from samebits.serve.live.samples import WrittenSamples
from samebits.serve.live.thinned import Thinned
from samebits.serve.runs.about import About, Abouts
from samebits.serve.runs.follow import Follower
from samebits.serve.runs.places import FolderPlace, State, is_held, state_of

__all__ = ["Published", "Watcher"]

LOOK_BYTES = 8 << 20  # of a log at one look: a page shows what is there meanwhile
LOAD_SECONDS = 2.0
KEPT = 4
MOST_CORES = 64  # shown; a page with more bars says nothing more


@dataclass(frozen=True, slots=True)
class Published:
    """What pages were told."""

    version: int
    state: State
    texts: dict[str, str]
    shares: dict[str, float]
    marks: dict[str, Mark]
    last_sample: int


class Watcher:
    """See the module's first lines.

    Attributes:
        place: The run.
        state: Running, stopped, finished or damaged.
        about: What its files say.
        progress: What its log says.
        charts: By name.
        samples: The newest ones.
        reading: Whether there is more of the log to read right now.
    """

    def __init__(self, place: FolderPlace, abouts: Abouts, cores: Cores) -> None:
        self.place = place
        self._abouts, self._machine = abouts, cores
        self.state: State = state_of(place)
        self.about: About = abouts.get(place)
        self.progress = RunProgress()
        self.samples = WrittenSamples()
        self.reading = True
        self.used = clock.seconds()
        self.charts = {
            "loss": LiveChart("loss", "Loss", "step"),
            "lr": LiveChart("lr", "Learning rate", "step", from_zero=True),
            "workers": LiveChart("workers", "Workers busy", "seconds", from_zero=True),
            "cores": LiveChart("cores", "Cores in use by this run", "seconds", from_zero=True),
            "memory": LiveChart("memory", "Memory in MB", "seconds", from_zero=True),
        }
        self._logs = _Logs(place)
        self._tree, self._load, self._looked_at_load = TreeLoad(), None, 0.0
        self._cores = Thinned(1.0)
        self._history: dict[str, Thinned] | None = None
        self._lock = threading.Lock()
        self.published: deque[Published] = deque(maxlen=KEPT)
        self._publish()

    _load: RunLoad | None

    def look(self) -> None:
        """Read what is new, on a thread of the caller's."""
        with self._lock:
            self.state, self.about = state_of(self.place), self._abouts.get(self.place)
            pieces, self.reading = self._logs.read(self.place.events)
            for piece in pieces:
                if piece is None:
                    self.progress, self._cores = RunProgress(), Thinned(1.0)
                else:
                    self.progress.take(piece)
            self._look_at_load()
            if (
                self.state == "finished"
                and self.progress.resumed
                and not self.reading
                and self._history is None
            ):
                self._history = read_history(self.place.output)
            self.samples.look(self.place, finished=self.state == "finished")
            self._draw()
            self._publish()

    def _look_at_load(self) -> None:
        if self.state != "running":
            self._load = None
        elif clock.seconds() - self._looked_at_load >= LOAD_SECONDS:
            self._looked_at_load = clock.seconds()
            self._load = self._tree.look(is_held(self.place.journal))
            if self._load is not None and self.progress.began is not None:
                now = np.array([clock.seconds() - self.progress.began])
                self._cores.add(now, np.array([self._load.cores]))

    def _draw(self) -> None:
        curves = self._history or self.progress.curves
        stage = self.progress.training
        end = float(stage.num_shards) if stage and stage.num_shards else None

        def series(*pairs: tuple[str, str]) -> list[Series]:
            found = [(shown, curves[name]) for name, shown in pairs if name in curves]
            return [Series(shown, curve.points(), curve.epoch) for shown, curve in found]

        busy, memory, cores = self.progress.busy, self.progress.memory, self._cores
        in_mb = [(x, y / 1e6) for x, y in memory.points()]
        final = self.state in ("finished", "stopped")
        charts = self.charts
        losses = series(("loss", "training"), ("val_loss", "validation"))
        charts["loss"].update(losses, x_end=end, final=final)
        charts["lr"].update(series(("lr", "learning rate")), x_end=end, final=final)
        charts["workers"].update([Series("busy", busy.points(), busy.epoch)], final=final)
        charts["cores"].update([Series("this run", cores.points(), cores.epoch)], final=final)
        charts["memory"].update([Series("all processes", in_mb, memory.epoch)], final=final)

    def _publish(self) -> None:
        version = self.published[-1].version + 1 if self.published else 1
        marks = {key: chart.mark() for key, chart in self.charts.items()}
        texts, shares = self.texts(), {stage.name: stage.share for stage in self.progress.stages.values()}
        shares["all"] = self.share()
        if self.state == "running":
            used = enumerate(self._machine.shares()[:MOST_CORES])
            shares |= {f"core {number}": round(share / 100, 2) for number, share in used}
        fresh = Published(version, self.state, texts, shares, marks, self.samples.last_step)
        if not self.published or _differs(self.published[-1], fresh):
            self.published.append(fresh)

    def share(self) -> float:
        """How much of the current stage is done; a finished run is done."""
        stage = self.progress.stage
        return 1.0 if self.state == "finished" else stage.share if stage else 0.0

    def texts(self) -> dict[str, str]:
        """Return the figures of the page, by the name of their place in it."""
        progress, about = self.progress, self.about
        stage = progress.stage
        found = {"state": self.state, "share": words.share(self.share())}
        seconds = about.number("seconds")
        if seconds is None and (progress.began is not None):
            seconds = clock.seconds() - progress.began if self.state == "running" else progress.seconds
        found["elapsed"] = words.duration(seconds) if seconds is not None else "–"
        found["stage"] = _stage_text(stage)
        found["rate"], found["left"] = self._rates(stage)
        peak = max(about.peak_memory, int(progress.peak_memory))
        found["memory"] = words.size(self._load.memory if self._load else peak) if peak or self._load else "–"
        found["cores"] = f"{self._load.cores:.1f}" if self._load else "–"
        found["workers"] = about.text("workers") or (str(len(progress.workers)) if progress.workers else "–")
        found["bad"] = words.count(self._bad_rows())
        for name in ("loss", "val_loss"):
            value = progress.metrics.get(name)
            found[name] = f"{value:.4f}" if value is not None else "–"
        found["note"] = progress.notes[-1] if progress.notes else ""
        return found

    def _bad_rows(self) -> float:
        found = self.progress.metrics.get("bad_rows")
        return found if found is not None else 0.0

    def _rates(self, stage: StageState | None) -> tuple[str, str]:
        rate = self.progress.rate
        if stage is None or not rate:
            return "–", "–"
        left = "–"
        if self.state == "running" and stage.num_units:
            left = words.duration(max(0.0, stage.num_units - stage.units_done) / rate)
        if stage.pieces == "steps" and stage.num_units and stage.num_shards:
            return words.rate(rate * stage.num_shards / stage.num_units, "steps"), left
        return words.rate(rate, stage.unit), left

    def message(self, since: int) -> tuple[bytes | None, int]:
        """Return what a page with this version must be told, as JSON, and the version it has then."""
        with self._lock:
            now = self.published[-1]
            if since == now.version:
                return None, since
            old = next((p for p in self.published if p.version == since), None)
            marks = old.marks if old else {}
            charts = [made for key, chart in self.charts.items() if (made := chart.since(marks.get(key)))]
            known = old.texts if old else {}
            message: dict[str, Any] = {
                "version": now.version,
                "state": now.state,
                "text": {key: text for key, text in now.texts.items() if known.get(key) != text},
                "share": {
                    key: share for key, share in now.shares.items() if not old or old.shares.get(key) != share
                },
                "charts": charts,
                "samples": [
                    {"step": sample.step, "text": sample.text}
                    for sample in self.samples.newest
                    if not old or sample.step > old.last_sample
                ],
            }
            return msgspec.json.encode(message), now.version

    def plain(self) -> dict[str, Any]:
        """Return everything as data, for programs."""
        with self._lock:
            return {
                "key": self.place.key,
                "name": self.place.name,
                "job": self.about.job,
                "state": self.state,
                "share": self.share(),
                "digest": self.about.digest or None,
                "plan_digest": self.about.plan_digest or None,
                "text": self.texts(),
                "metrics": self.progress.metrics,
                "stages": [
                    {
                        "name": s.name,
                        "share": s.share,
                        "shards": s.num_shards,
                        "shards_done": s.shards_done,
                        "seconds": s.seconds,
                    }
                    for s in self.progress.stages.values()
                ],
                "notes": list(self.progress.notes),
            }

    def curves(self) -> dict[str, Any]:
        """Return the thinned curves as data."""
        with self._lock:
            return {key: chart.plain() for key, chart in self.charts.items() if chart.series}


class _Logs:
    """The log of a run, and before it the log of its earlier attempts, if it was stopped and went on."""

    def __init__(self, place: FolderPlace) -> None:
        self._now = Follower(place.events)
        self._earlier = Follower(place.journal / "events.earlier.jsonl")
        self._begun = False

    def read(self, path: Path) -> tuple[list[bytes | None], bool]:
        """Return new pieces, None where everything before is to be forgotten, and whether there may be more."""
        self._now.path = path
        found: list[bytes | None] = []
        if not self._begun:
            self._begun = True
            found += self._earlier.read(LOOK_BYTES)
        fresh: list[bytes | None] = []
        size = 0
        for piece in self._now.read(LOOK_BYTES):
            fresh.append(piece)
            size += len(piece)
        if self._now.restarted:
            self._earlier = Follower(self._earlier.path)
            found = [None, *self._earlier.read(LOOK_BYTES)]
        return found + fresh, size >= LOOK_BYTES - (1 << 20)


def _differs(old: Published, new: Published) -> bool:
    return (old.state, old.texts, old.shares, old.marks, old.last_sample) != (
        new.state,
        new.texts,
        new.shares,
        new.marks,
        new.last_sample,
    )


def _stage_text(stage: StageState | None) -> str:
    if stage is None:
        return "–"
    if not stage.num_shards:
        return stage.name
    return f"{stage.name}: {words.count(stage.shards_done)} of {words.count(stage.num_shards)} {stage.pieces}"
