"""Word numbers of all rows, in the order they come: in memory while they are few, else in a file that is mapped.

A set that does not fit in memory must train, and a small one should not pay for it: writing 4 million numbers to a file,
mapping and removing it took 12 ms of a run of 350.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from samebits.data.files import writing
from samebits.kernels.langid.text.words import renumber

__all__ = ["TokenSpill"]

MOST_IN_MEMORY = 1 << 24  # numbers: 64 MB, 800,000 rows of the seed benchmark
FIRST_ROOM = 1 << 20


class TokenSpill:
    """Collects numbers.

    Attributes:
        path: The file that is used when there are more than fit.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = np.empty(FIRST_ROOM, np.uint32)
        self._size = 0
        self._file: IO[bytes] | None = None

    def expect(self, number: int) -> None:
        """Take room for so many numbers at once, before the first; more or fewer may come."""
        self._held = np.empty(min(number, MOST_IN_MEMORY), np.uint32)

    def add(self, numbers: NDArray[np.uint32], tokens: NDArray[np.uint16] | NDArray[np.uint32]) -> None:
        """Append ``numbers[tokens]``."""
        if self._file is None and self._size + len(tokens) > MOST_IN_MEMORY:
            self._open()
        if self._file is not None:
            self._make_room(len(tokens))
            renumber(numbers, tokens, self._held)
            self._write(len(tokens))
            return
        self._make_room(self._size + len(tokens))
        renumber(numbers, tokens, self._held[self._size :])
        self._size += len(tokens)

    def _make_room(self, size: int) -> None:
        if size > len(self._held):
            # realloc moves the pages of a large block instead of copying them
            self._held.resize(max(size, 2 * len(self._held)), refcheck=False)

    def _open(self) -> None:
        with writing(self.path):
            self._file = self.path.open("wb")
        self._write(self._size)
        self._held = np.empty(FIRST_ROOM, np.uint32)

    def _write(self, size: int) -> None:
        assert self._file is not None
        with writing(self.path):
            self._file.write(self._held[:size].data)

    def finish(self) -> NDArray[np.uint32]:
        """Return all numbers; a mapped file must stay until they are no longer used."""
        if self._file is None:
            return self._held[: self._size]
        self.close()
        return np.memmap(self.path, np.uint32, mode="r")

    def close(self) -> None:
        """End writing; a full disk was reported when writing."""
        if self._file is not None:
            with writing(self.path):
                self._file.close()

    def remove(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)
