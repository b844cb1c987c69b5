"""What the log of a run says so far, in memory that does not grow with it: stages, rates, curves, notes."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.serve.events import scan_events
from samebits.serve.live.thinned import Busy, Thinned

if TYPE_CHECKING:
    from samebits.kernels.serve.events import Columns

__all__ = ["BY_STEP", "RunProgress", "StageState"]

STEPS = "steps"  # what the pieces of a stage that trains are called
BY_STEP = ("loss", "val_loss", "lr")  # metrics that are curves over steps; of others the newest value is kept
BEFORE_STEP = ("loss", "lr")  # told before the step they belong to; a validation is told after
MOST_WORKERS = 1024
MOST_NOTES = 30
MOST_NUMBER = 1e18
RECENT_SECONDS = 30.0  # what a rate is measured over
Floats = NDArray[np.float64]


@dataclass
class StageState:
    """One stage of a run; ``num_units`` and ``num_shards`` are what there is to do."""

    name: str
    num_shards: int = 0
    num_units: float = 0.0
    unit: str = "bytes"
    pieces: str = "shards"
    shards_done: int = 0
    units_done: float = 0.0
    seconds: float | None = None

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        if self.seconds is not None:
            return 1.0
        done, whole = (
            (self.units_done, self.num_units) if self.num_units else (self.shards_done, self.num_shards)
        )
        return min(1.0, done / whole) if whole else 0.0


@dataclass
class RunProgress:
    """Takes pieces of ``events.jsonl`` in order.

    Attributes:
        stages: By name, in the order they began.
        metrics: Newest value of each metric.
        curves: Of the metrics in ``BY_STEP``.
        memory: Bytes over seconds since the beginning.
        busy: Workers at work over the same time.
        workers: Names seen.
        notes: The newest messages for people.
        began: First moment, on the machine's monotonic clock.
        ended: Last moment seen.
    """

    stages: dict[str, StageState] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    curves: dict[str, Thinned] = field(default_factory=dict)
    memory: Thinned = field(default_factory=lambda: Thinned(0.25))
    busy: Busy = field(default_factory=Busy)
    workers: set[str] = field(default_factory=set)
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_NOTES))
    began: float | None = None
    ended: float = 0.0
    current: str = ""
    resumed: bool = False
    peak_memory: float = 0.0
    _last_step: int = 0  # steps done so far
    _waiting: list[tuple[str, float]] = field(default_factory=list)  # metrics whose step is not told yet
    _recent: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=4096))
    _fresh_units: float = 0.0

    def take(self, piece: bytes) -> None:
        """Take some whole lines."""
        columns = _usable(scan_events(piece))
        self._set_beginning(columns)
        self._take_others(piece, columns)
        self._take_curves(columns)
        self._take_memory(columns["memory"])

    def _set_beginning(self, columns: Columns) -> None:
        if self.began is None:
            moments = [*columns["shard_time"][:1, 0].tolist(), *columns["memory"][:1, 0].tolist()]
            self.began = min(moments) if moments else None
            self.ended = self.began or 0.0

    def _take_others(self, piece: bytes, columns: Columns) -> None:
        """Take the rare events one by one, and the shards between them together."""
        shards, done = columns["shard_at"], 0
        for line, start, stop in columns["others"].tolist():
            until = int(np.searchsorted(shards[:, 0], line))
            self._take_shards(columns, done, until)
            done = until
            try:
                event = json.loads(piece[start:stop])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                self._take_event(event)
        self._take_shards(columns, done, len(shards))

    def _take_event(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "StageStarted":
            name = str(event.get("stage"))
            shards, units = (_number(event.get(key)) for key in ("num_shards", "num_units"))
            self.stages[name] = StageState(
                name, int(shards), units, str(event.get("unit")), str(event.get("pieces", "shards"))
            )
            self.current = name
            self._recent.clear()
            self._fresh_units = 0.0
        elif kind == "StageDone" and str(event.get("stage")) in self.stages:
            self.stages[str(event["stage"])].seconds = _number(event.get("seconds"))
        elif kind == "Warned":
            self.notes.append(str(event.get("message"))[:1000])

    def _take_shards(self, columns: Columns, start: int, stop: int) -> None:
        if start == stop:
            return
        at, time = columns["shard_at"][start:stop], columns["shard_time"][start:stop]
        for number in np.unique(at[:, 1]).tolist():
            of_stage = at[:, 1] == number
            name = columns["stages"][number]
            stage = self.stages.setdefault(name, StageState(name))
            stage.units_done += float(time[of_stage, 2].sum())
            if stage.pieces == STEPS:  # a resumed run tells all earlier steps as one
                stage.shards_done = int(at[of_stage, 3][-1]) + 1
                stage.units_done = stage.units_done if not stage.num_shards else self._units_of_steps(stage)
            else:
                stage.shards_done += int(of_stage.sum())
            self.current = name
        fresh = at[:, 4] == 0
        self.resumed = self.resumed or not fresh.all()
        if not fresh.any():
            return
        ends = time[fresh, 0] + time[fresh, 1]
        self.ended = max(self.ended, float(ends.max()))
        self._fresh_units += float(time[fresh, 2].sum())
        self._recent.append((float(ends.max()), self._fresh_units))
        names = {columns["workers"][number] for number in np.unique(at[fresh, 2]).tolist()} - {""}
        if len(self.workers) < MOST_WORKERS:
            self.workers |= names
        if names:
            self.busy.add(time[fresh, 0] - (self.began or 0.0), time[fresh, 1])

    @staticmethod
    def _units_of_steps(stage: StageState) -> float:
        """Return what the steps done so far make up; after a lost worker some steps are told twice."""
        return stage.num_units * stage.shards_done / stage.num_shards

    def _take_curves(self, columns: Columns) -> None:
        steps = columns["shard_at"][:, [0, 3]] + (0, 1)  # line, steps done after it
        lines, numbers = columns["metric_at"].T
        values = columns["metric_value"]
        waiting, self._waiting = self._waiting, []
        for name, value in waiting:
            if len(steps):
                self._curve(name).add(steps[:1, 1].astype(np.float64), np.array([value]))
            else:
                self._waiting.append((name, value))
        for number, name in enumerate(columns["names"]):
            chosen = numbers == number
            found = values[chosen]
            self.metrics[name] = float(found[-1])
            if name not in BY_STEP:
                continue
            place = np.searchsorted(steps[:, 0], lines[chosen])
            if name in BEFORE_STEP:
                known = place < len(steps)
                self._curve(name).add(steps[place[known], 1].astype(np.float64), found[known])
                self._waiting += [(name, value) for value in found[~known].tolist()][-1:]
            else:
                before = np.concatenate([[self._last_step], steps[:, 1]])
                self._curve(name).add(before[place].astype(np.float64), found)
        if len(steps):
            self._last_step = int(steps[-1, 1])

    def _curve(self, name: str) -> Thinned:
        return self.curves.setdefault(name, Thinned())

    def _take_memory(self, samples: Floats) -> None:
        if len(samples):
            self.memory.add(samples[:, 0] - (self.began or 0.0), samples[:, 1])
            self.peak_memory = max(self.peak_memory, float(samples[:, 1].max()))
            self.ended = max(self.ended, float(samples[-1, 0]))

    @property
    def seconds(self) -> float:
        """How long the log has been going."""
        return max(0.0, self.ended - self.began) if self.began is not None else 0.0

    @property
    def rate(self) -> float | None:
        """Units of the current stage per second, lately; None before there is one."""
        if len(self._recent) < 2:
            return None
        last_time, last_units = self._recent[-1]
        for time, units in self._recent:
            if last_time - time <= RECENT_SECONDS:
                return (last_units - units) / (last_time - time) if last_time - time > 0.2 else None
        return None

    @property
    def training(self) -> StageState | None:
        """The stage that trains, if there is one."""
        return next((stage for stage in self.stages.values() if stage.pieces == STEPS), None)

    @property
    def stage(self) -> StageState | None:
        """The stage at work, or the last one."""
        return self.stages.get(self.current)


def _usable(columns: Columns) -> Columns:
    """Leave out samples and shards with numbers that no run has."""
    for name in ("memory", "shard_time"):
        values = columns[name]
        fine = ((values >= 0) & (values < MOST_NUMBER)).all(axis=1)
        if not fine.all():
            columns[name] = values[fine]
            if name == "shard_time":
                columns["shard_at"] = columns["shard_at"][fine]
    return columns


def _number(value: Any) -> float:
    """Return a number that a log should hold; anything else is 0."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable and abs(value) < MOST_NUMBER else 0.0
