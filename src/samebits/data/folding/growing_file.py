"""A file of the output that the driver writes while workers still compute what follows.

Where tasks run in the driver's own process and are few, a stage that writes when all of them are done leaves cores idle: one task
hashes a block from its first byte to its last, then waits for the disk. Here the driver takes what each part adds as it comes, in
shard order, and a thread that only waits lets the disk keep up. The bytes and their seal are those of ``output_file``.
"""

from __future__ import annotations

import os
from functools import partial

from samebits.data.artifact import ArtifactWriter
from samebits.data.background import Beside
from samebits.data.files import writing
from samebits.data.sealing import Sealer

__all__ = ["MOST_WORKERS", "GrowingFile"]

MOST_WORKERS = 8  # one thread hashes and writes about 1 GB/s; a worker that encodes makes a tenth of that
SYNC_BYTES = 8 << 20


class GrowingFile:
    """Takes the file's bytes in order, each piece with its place: any tuple that grows, so that none is taken twice.

    Attributes:
        name: In the output.
    """

    def __init__(self, out: ArtifactWriter, name: str) -> None:
        self.name = name
        self._out = out
        self._path = out.path(name)
        self._sealer = Sealer()
        self._last: tuple[int, ...] = ()
        self._unsynced = 0
        self._syncing: Beside[None] | None = None
        with writing(self._path):
            self._file = self._path.open("wb", buffering=0)

    def holds(self, place: tuple[int, ...]) -> bool:
        """Whether what belongs to a place is written."""
        return place <= self._last

    def add(self, place: tuple[int, ...], data: bytes | memoryview) -> None:
        """Write the next bytes."""
        self._sealer.update(data)
        self._last, left = place, memoryview(data)
        with writing(self._path):
            while left:
                left = left[self._file.write(left) :]
        self._unsynced += len(data)
        if self._unsynced >= SYNC_BYTES and (self._syncing is None or self._syncing.is_done):
            self._wait()
            self._unsynced = 0
            self._syncing = Beside(partial(os.fdatasync, self._file.fileno()))

    def _wait(self) -> None:
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            with writing(self._path):
                syncing.result()

    def finish(self) -> None:
        """All is there; harmless the second time."""
        self._wait()
        self.close()
        self._out.know(self.name, self._sealer.entry())

    def close(self) -> None:
        """Let go of the file, whole or not; what went wrong meanwhile counts for a whole one only."""
        if self._syncing is not None:
            self._syncing.wait()
        self._file.close()
