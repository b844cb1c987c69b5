"""The board: how the driver knows what each worker process has in hand, and that it is alive.

One small file per worker, named by its process id, in the folder of the run. The worker writes the shard it has in hand;
a thread in the worker touches the file every second, and ends the process when its parent is gone. A file whose time
stands still belongs to a worker that is stopped; a file whose process is gone belongs to a worker that was killed. A
worker without a file is still starting: its sign of life is the processor time it uses, or that it waits for a core.

The driver counts its own ticks instead of reading a clock: after Ctrl-Z, a suspended laptop or a corrected clock, all
workers are as late as the driver itself, and none of them is to blame.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["IDLE", "LivenessBoard", "Seat"]

PULSE_SECONDS = 1.0
IDLE = -1
INDEX_BYTES = 8


class Seat:
    """The worker's side of the board.

    Args:
        folder: The board.
        run_folder: Removed by the worker when the driver died and cannot do it any more.
        driver: Process id of the driver; given, because a worker whose driver is gone has another parent already.
    """

    def __init__(self, folder: Path, *, run_folder: Path, driver: int) -> None:
        self._run_folder = run_folder
        self._driver = driver
        self._leave_with_driver()
        self._file = os.open(folder / str(os.getpid()), os.O_RDWR | os.O_CREAT, 0o600)
        self.take(IDLE)
        threading.Thread(target=self._pulse, name="samebits-pulse", daemon=True).start()

    def take(self, index: int) -> None:
        """Say which shard is in hand; -1 for none. One system call, about 2 µs."""
        os.pwrite(self._file, index.to_bytes(INDEX_BYTES, "little", signed=True), 0)

    def _pulse(self) -> None:
        while True:
            os.utime(self._file)
            self._leave_with_driver()
            time.sleep(PULSE_SECONDS)

    def _leave_with_driver(self) -> None:
        if os.getppid() != self._driver:
            shutil.rmtree(self._run_folder, ignore_errors=True)
            os._exit(1)  # the driver is gone: nobody will ever take the result


class LivenessBoard:
    """The driver's side of the board."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pulses: dict[int, tuple[float | None, int]] = {}  # process id -> last pulse seen, ticks since
        self._looks = 0

    def in_hand(self) -> dict[int, int]:
        """Return process id -> shard index for all workers that have one in hand."""
        hands = {}
        for path in self.folder.iterdir():
            data = path.read_bytes()
            index = int.from_bytes(data, "little", signed=True)
            if len(data) == INDEX_BYTES and index != IDLE:  # an empty file: it has only just come in
                hands[int(path.name)] = index
        return hands

    def lost(self) -> dict[int, int]:
        """Return process id -> shard index of workers that are gone with a shard in hand."""
        return {pid: index for pid, index in self.in_hand().items() if not _is_running(pid)}

    def tick(self, pids: Iterable[int]) -> dict[int, int]:
        """Look at every pulse; call it once a second. Returns process id -> ticks without a new pulse."""
        pulses = {}
        self._looks += 1
        for pid in pids:
            pulse = self._pulse_of(pid)
            before, ticks = self._pulses.get(pid, (pulse, -1))
            pulses[pid] = (pulse, ticks + 1 if pulse == before else 0)
        self._pulses = pulses
        return {pid: ticks for pid, (_, ticks) in pulses.items()}

    def _pulse_of(self, pid: int) -> float | None:
        try:
            return (self.folder / str(pid)).stat().st_mtime_ns
        except FileNotFoundError:
            return _starting(pid, self._looks)

    def clear(self) -> None:
        """Forget all workers: a new pool starts."""
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)


def _starting(pid: int, look: int) -> float | None:
    """Return what changes from look to look as long as a process computes or waits for a core; nothing if it is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        used = process.cpu_times()  # on a clock of 10 ms: less may be all that a busy machine gives
        waits = process.status() == psutil.STATUS_RUNNING
    except psutil.Error:
        return None
    return float(-look if waits else used.user + used.system)


def _is_running(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
