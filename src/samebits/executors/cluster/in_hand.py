"""Hands: which shard each worker of a cluster has in hand, in small files of the spool.

When a worker dies, Dask fails all that was queued on it, and what it had finished a moment ago too. Only the worker knew
which shard it was computing, so it writes that down first: one file for each of its threads, one system call of some 2 µs
a shard. The system keeps what was written when the process is gone. Where no spool is shared, nothing is known, and the
executor goes by the order of submission.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from samebits.executors.liveness import IDLE

__all__ = ["put_down", "shards_in_hand", "take_up"]

INDEX_BYTES = 8
_mine = threading.local()  # token of the run and open file, for each thread of a worker


def take_up(folder: str, token: str, worker: str, index: int) -> None:
    """Write down the shard this thread has in hand; a folder that is not there is no reason to stop."""
    if getattr(_mine, "token", "") != token:
        _mine.token, _mine.file = token, _open(folder, token, worker)
    if _mine.file is not None:
        os.pwrite(_mine.file, index.to_bytes(INDEX_BYTES, "little", signed=True), 0)


def put_down() -> None:
    """Write down that this thread has nothing in hand."""
    if getattr(_mine, "file", None) is not None:
        os.pwrite(_mine.file, IDLE.to_bytes(INDEX_BYTES, "little", signed=True), 0)


def _open(folder: str, token: str, worker: str) -> int | None:
    if getattr(_mine, "file", None) is not None:
        os.close(_mine.file)
    try:
        if not (Path(folder) / token).exists():
            return None
        file = os.open(Path(folder) / f"hand-{uuid4().hex}", os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(file, worker.encode(), INDEX_BYTES)
    except OSError:
        return None  # the disk is full, or not shared: the executor does without
    return file


def shards_in_hand(folder: str, is_lost: Callable[[str], bool]) -> set[int] | None:
    """Return what lost workers had in hand, or None if they have left no word."""
    found: set[int] | None = None
    for path in Path(folder).glob("hand-*") if folder else ():
        data = path.read_bytes()
        if is_lost(data[INDEX_BYTES:].decode(errors="replace")):
            found = (found or set()) | {int.from_bytes(data[:INDEX_BYTES], "little", signed=True)}
    return found
