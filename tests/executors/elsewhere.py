"""Workers on another machine, as far as files go: while a task runs, the folder of the run is not to be seen."""

from __future__ import annotations

from typing import Any

import pytest

from samebits.core.plan import Shard
from samebits.data.folding import piece_files
from samebits.executors.serial import SerialExecutor

__all__ = ["workers_elsewhere"]


def workers_elsewhere(monkeypatch: pytest.MonkeyPatch) -> SerialExecutor:
    """Return an executor whose tasks do not see what the driver sees."""
    sees, working = piece_files._sees, [False]

    class Elsewhere(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            working[0] = True
            try:
                return super().submit(task, shard, handle)
            finally:
                working[0] = False

    monkeypatch.setattr(piece_files, "_sees", lambda *place: not working[0] and sees(*place))
    return Elsewhere()
