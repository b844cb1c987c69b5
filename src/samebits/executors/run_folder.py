"""The folder of one run's worker processes: board, tasks, states and large outcomes; and the scratch folder of a rank.

The driver holds a lock in it as long as it lives. Workers remove the folder of a driver that died (see ``board``); if
they died with it, nobody is left to do that, so every new run first removes the folders whose lock nobody holds, and the
semaphores that loky made for their drivers.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

__all__ = ["RunFolder"]

PREFIX = "samebits-run-"
LOCK = "driver"
SEMAPHORES = Path("/dev/shm")  # noqa: S108 - where Linux keeps named semaphores


class RunFolder:
    """A private folder that does not outlive its driver for long.

    Attributes:
        path: Where it is; mode 0700, so only this user can plant a state or a task.
    """

    def __init__(self, parent: str | None = None) -> None:
        _sweep(parent or tempfile.gettempdir())
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self._lock = os.open(self.path / "new", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.write(self._lock, str(os.getpid()).encode())
        (self.path / "new").rename(self.path / LOCK)  # seen by a sweep only when it is held

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it; harmless the second time."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(parent: str) -> None:
    for lock in Path(parent).glob(f"{PREFIX}*/{LOCK}"):
        try:
            descriptor = os.open(lock, os.O_RDWR)
        except OSError:
            continue  # another user's, or gone already
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its driver is alive
        else:
            _remove_semaphores(os.read(descriptor, 20))
            shutil.rmtree(lock.parent, ignore_errors=True)
        finally:
            os.close(descriptor)


def _remove_semaphores(driver: bytes) -> None:
    """Remove what loky's tracker would have removed, had it not been killed with the driver."""
    if driver.isdigit():
        for path in SEMAPHORES.glob(f"sem.loky-{int(driver)}-*"):
            with suppress(OSError):
                path.unlink()
