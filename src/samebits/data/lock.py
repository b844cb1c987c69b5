"""One run at a time on one output. The kernel drops the lock when its process dies, so no stale lock ever remains."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from samebits.data.files import writing
from samebits.errors import OutputBusy

__all__ = ["OutputLock"]


class OutputLock:
    """Holds ``path`` from construction to ``release``.

    Raises:
        OutputBusy: if another process holds it; says which.
    """

    def __init__(self, path: Path, *, output: Path | str) -> None:
        self.path = path
        with writing(path):
            self._file = self._acquire(output)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def _acquire(self, output: Path | str) -> int:
        while True:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                continue  # a run that ended just now removed the folder
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace")
                os.close(descriptor)
                raise OutputBusy(
                    f"another run (process {holder or 'unknown'}) is writing {output}",
                    hint="wait for it to end, or choose a different output",
                ) from None
            if self._is_current(descriptor):
                return descriptor
            os.close(descriptor)  # the holder before us removed the file: lock the new one

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let go."""
        os.close(self._file)
