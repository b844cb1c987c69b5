"""Pieces that a thread of this process has just made, in memory until the driver takes them: it would read them back at once.

For a file that the driver writes while workers go on (``growing_file``). Such a piece goes from a task into the output, and after that only a
resume needs it. So during the first second of a run it is not written for a resume at all: the file of its part is left shorter, a
resume takes that for a part which is not there, and makes it again. The same happens to whoever reads a piece that was left out.
Without this every id was written twice, read back and removed: 30 of 600 ms of CPU for 120 MB of JSON lines.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from samebits.core.observing.clock import seconds

__all__ = ["KEEP_SECONDS", "HeldPieces", "begin_holding", "end_holding", "held_pieces"]

KEEP_SECONDS = 1.0  # from then on everything is kept for a resume
MOST_BYTES = 64 << 20  # in memory; what is beyond is read back
Piece = bytes | memoryview


class HeldPieces:
    """Pieces of one folder, by file and number.

    State, under ``_lock``: ``_pieces`` that nobody has taken, ``_num_bytes`` of them; ``_began`` when holding began.
    """

    def __init__(self, first: int) -> None:
        """Hold pieces from this number on; those before it are for others."""
        self._first = first
        self._began = seconds()
        self._lock = threading.Lock()
        self._pieces: dict[tuple[str, int], Piece] = {}
        self._num_bytes = 0

    def hold(self, name: str, pieces: Sequence[Piece]) -> int:
        """Hold the pieces of a file if there is room; return how many of them are to be written."""
        mine = {(name, i): pieces[i] for i in range(self._first, len(pieces))}
        size = sum(map(len, mine.values()))
        with self._lock:
            if self._num_bytes + size > MOST_BYTES or not mine.keys().isdisjoint(self._pieces):
                return len(pieces)
            self._num_bytes += size
            self._pieces |= mine
        return self._first if seconds() - self._began < KEEP_SECONDS else len(pieces)

    def take(self, name: str, number: int) -> Piece | None:
        """Return a piece once; None if it is not here."""
        with self._lock:
            piece = self._pieces.pop((name, number), None)
            self._num_bytes -= len(piece or b"")
        return piece


_HELD: dict[str, HeldPieces] = {}  # by the path of the folder


def begin_holding(folder: str, first: int) -> None:
    """Hold what threads of this process write into a folder, from this piece of a file on, for one who takes all of it."""
    _HELD[folder] = HeldPieces(first)


def end_holding(folder: str) -> None:
    """Let go of what nobody has taken; harmless the second time."""
    _HELD.pop(folder, None)


def held_pieces(folder: str) -> HeldPieces | None:
    """Return what is held of a folder; None if nothing is to be."""
    return _HELD.get(folder)
