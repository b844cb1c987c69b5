"""``--monitor``: what the machine does while a run goes on; ``--profile``: where its time goes.

Both are threads that look twice a second (monitor) or 200 times a second (profile) and never touch the work.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
import psutil

from samebits.core.observing import clock
from samebits.core.observing.events import Event, Metric, ShardDone, StageStarted
from samebits.core.observing.units import show_size

__all__ = ["Monitor", "monitoring", "profiling"]

LOOK_SECONDS = 0.5
SAMPLE_SECONDS = 0.005
TOP = 15


class Monitor:
    """Counts what events say; ``line`` says it with what the machine says."""

    def __init__(self) -> None:
        self.stage = ""
        self.num_bytes = 0
        self.total = 0
        self.started = clock.seconds()
        self.metrics: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, StageStarted):
            self.stage, self.total, self.num_bytes = event.stage, event.num_units, 0
            self.started = clock.seconds()
        elif isinstance(event, ShardDone):
            self.num_bytes += event.num_units
        elif isinstance(event, Metric):
            self.metrics[event.name] = event.value

    def line(self) -> str:
        """Return CPU per core, memory, MB/s, tokens/s and bad rows."""
        seconds = max(clock.seconds() - self.started, 1e-9)
        cores = " ".join(f"{share:.0f}" for share in psutil.cpu_percent(percpu=True))
        sizes = _memory()
        rates = [f"{show_size(self.num_bytes / seconds)}/s"]
        if "tokens" in self.metrics:
            rates.append(f"{self.metrics['tokens'] / seconds / 1e6:.2f} M tokens/s")
        memory = f"{show_size(sum(sizes))} memory (largest process {show_size(max(sizes))})"
        bad = f"{self.metrics.get('bad_rows', 0):.0f} bad rows"
        return f"{self.stage}: CPU % [{cores}], {memory}, {', '.join(rates)}, {bad}"


def _memory() -> list[int]:
    own = psutil.Process()
    sizes = [own.memory_info().rss]
    for child in own.children(recursive=True):
        try:
            sizes.append(child.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return sizes


@contextmanager
def monitoring() -> Iterator[Monitor]:
    """Print a line twice a second: over itself on a terminal, one below the other elsewhere."""
    monitor, stop = Monitor(), threading.Event()
    over = sys.stderr.isatty()

    def look() -> None:
        while not stop.wait(LOOK_SECONDS):
            click.echo(f"\r\x1b[K{monitor.line()}" if over else monitor.line(), err=True, nl=not over)

    thread = threading.Thread(target=look, name="monitor", daemon=True)
    thread.start()
    try:
        yield monitor
    finally:
        stop.set()
        thread.join()
        click.echo(f"\r\x1b[K{monitor.line()}" if over else monitor.line(), err=True)


@contextmanager
def profiling(path: Path) -> Iterator[None]:
    """Sample the stacks of all threads of this process; write them folded, as flame graph tools read them.

    A deterministic profiler would see the main thread alone and slow every call down; workers that are other processes
    are not seen by either, so use it with the executors ``threads`` or ``serial``.
    """
    stacks: Counter[str] = Counter()
    stop = threading.Event()
    own: list[int] = []

    def sample() -> None:
        own.append(threading.get_ident())
        while not stop.wait(SAMPLE_SECONDS):
            for thread, frame in sys._current_frames().items():
                if thread not in own:
                    stacks[_folded(frame)] += 1

    thread = threading.Thread(target=sample, name="profile", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        lines = [f"{stack} {count}" for stack, count in sorted(stacks.items())]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        _say_top(stacks, path)


def _folded(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}")
        frame = frame.f_back
    return ";".join(reversed(names))


def _say_top(stacks: Counter[str], path: Path) -> None:
    leaves: Counter[str] = Counter()
    for stack, count in stacks.items():
        leaves[stack.rpartition(";")[2]] += count
    total = sum(leaves.values()) or 1
    click.echo(f"profile: {total} samples in {path}; innermost Python functions:", err=True)
    for name, count in sorted(leaves.items(), key=lambda item: (-item[1], item[0]))[:TOP]:
        click.echo(f"  {100 * count / total:5.1f} %  {name}", err=True)
