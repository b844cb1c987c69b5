"""What the machine does: share of each core, and the processor time and memory of a run's processes."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from samebits.core.observing import clock

__all__ = ["Cores", "RunLoad", "TreeLoad"]

LOOK_SECONDS = 0.9


class Cores:
    """Share of each core in use, 0 to 100, since the last look; shared by all pages."""

    def __init__(self) -> None:
        psutil.cpu_percent(percpu=True)  # the first call only sets the beginning
        self._looked = clock.seconds()
        self._shares: list[float] = []

    def shares(self) -> list[float]:
        """Return the shares; at most one look a second, because a shorter one is noise."""
        if clock.seconds() - self._looked >= LOOK_SECONDS:
            self._shares = list(psutil.cpu_percent(percpu=True))
            self._looked = clock.seconds()
        return self._shares


@dataclass(frozen=True, slots=True)
class RunLoad:
    """Of a run's processes together."""

    processes: int
    cores: float
    memory: int


class TreeLoad:
    """Looks at a process and all it started."""

    def __init__(self) -> None:
        self._pid = 0
        self._times: dict[int, float] = {}
        self._looked = 0.0

    def look(self, pid: int) -> RunLoad | None:
        """Return the load since the last look; None the first time, and when the process is gone."""
        try:
            root = psutil.Process(pid)
            processes = [root, *root.children(recursive=True)]
        except psutil.Error:
            return None
        now, times, memory = clock.seconds(), {}, 0
        for process in processes:
            try:
                with process.oneshot():
                    spent = process.cpu_times()
                    times[process.pid] = spent.user + spent.system
                    memory += process.memory_info().rss
            except psutil.Error:
                continue
        first = self._pid != pid
        passed = now - self._looked
        spent_since = sum(
            time - self._times.get(number, 0.0) for number, time in times.items() if number in self._times
        )
        self._pid, self._times, self._looked = pid, times, now
        return None if first or passed <= 0 else RunLoad(len(times), spent_since / passed, memory)
