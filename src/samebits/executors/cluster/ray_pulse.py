"""Signs of life of Ray's workers: each worker tells an actor every second that it runs, and the driver reads that."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

__all__ = ["KNOCK_SECONDS", "Pulse", "PulseBoard"]

PULSE_SECONDS = 1.0
KNOCK_SECONDS = 2.0


class PulseBoard:
    """The actor: how often each worker has given a sign of life."""

    def __init__(self) -> None:
        self.beats: dict[tuple[str, int], int] = {}

    def beat(self, node: str, pid: int) -> None:
        """Take a sign of life."""
        self.beats[node, pid] = self.beats.get((node, pid), 0) + 1

    def forget(self, node: str, pid: int) -> None:
        """Forget a worker that was killed."""
        self.beats.pop((node, pid), None)

    def look(self) -> dict[tuple[str, int], int]:
        """Return how many signs each has given."""
        return self.beats


class Pulse:
    """The worker's side: a thread that tells the board every second that this process runs."""

    def __init__(self, board: Any) -> None:
        ray: Any = import_module("ray")  # Any: its types know nothing of actors
        self.board = board
        self.node = ray.get_runtime_context().get_node_id()
        with suppress(Exception):  # seen once before any shard, so that a stop in the first one is noticed
            ray.get(board.beat.remote(self.node, os.getpid()), timeout=5 * KNOCK_SECONDS)
        threading.Thread(target=self._beat, name="samebits-pulse", daemon=True).start()

    def _beat(self) -> None:
        while True:
            time.sleep(PULSE_SECONDS)
            with suppress(Exception):  # the board may belong to a run that has ended
                self.board.beat.remote(self.node, os.getpid())
