"""The board: how the driver knows what each worker process has in hand, and that it is alive.

One small file per worker, named by its process id, in a folder of the run. The worker writes the shard it has in hand;
a thread in the worker touches the file every second and ends the process when its parent is gone. A file whose time
stands still belongs to a worker that is stopped; a file whose process is gone belongs to a worker that was killed.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

__all__ = ["Board", "Seat"]

PULSE_SECONDS = 1.0
IDLE = -1


class Seat:
    """The worker's side of the board."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / str(os.getpid()), os.O_RDWR | os.O_CREAT, 0o600)
        self._parent = os.getppid()
        self.take(IDLE)
        threading.Thread(target=self._pulse, name="samebits-pulse", daemon=True).start()

    def take(self, index: int) -> None:
        """Say which shard is in hand; -1 for none. One system call, about 2 µs."""
        os.pwrite(self._file, index.to_bytes(8, "little", signed=True), 0)

    def _pulse(self) -> None:
        while True:
            os.utime(self._file)
            if os.getppid() != self._parent:
                os._exit(1)  # the driver is gone: nobody will ever take the result
            time.sleep(PULSE_SECONDS)


class Board:
    """The driver's side of the board."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def in_hand(self) -> dict[int, int]:
        """Return process id -> shard index for all workers that have one in hand."""
        hands = {}
        for path in self.folder.iterdir():
            index = int.from_bytes(path.read_bytes()[:8], "little", signed=True)
            if index != IDLE:
                hands[int(path.name)] = index
        return hands

    def lost(self) -> dict[int, int]:
        """Return process id -> shard index of workers that are gone with a shard in hand."""
        return {pid: index for pid, index in self.in_hand().items() if not _is_running(pid)}

    def stalled(self, seconds: float) -> dict[int, int]:
        """Return process id -> shard index of running workers without a pulse for so long."""
        now = time.time()  # noqa: TID251 - compared with file times, never part of a result
        return {
            pid: index
            for pid, index in self.in_hand().items()
            if now - (self.folder / str(pid)).stat().st_mtime > seconds and _is_running(pid)
        }

    def clear(self) -> None:
        """Forget all workers: a new pool starts."""
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
