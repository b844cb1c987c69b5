"""An executor around another whose workers die once, with a shard of one task in hand."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.core.plan import Shard
from samebits.core.ports.executor import Executor

__all__ = ["Deadly"]


@dataclass(frozen=True)
class _Dying:
    """A task that kills its process the first time it is called."""

    task: Any
    flag: str

    @property
    def part_type(self) -> Any:
        return self.task.part_type

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        if not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.task(shard, state)


class Deadly:
    """Hands everything on; a task of the given kind goes out as one that kills."""

    def __init__(self, executor: Executor, kind: type[Any], flag: str) -> None:
        self._executor, self._kind, self._flag = executor, kind, flag
        self._deadly: dict[
            int, tuple[Any, _Dying]
        ] = {}  # one for each task, as executors publish a task once

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
        if isinstance(task, self._kind):
            _, task = self._deadly.setdefault(id(task), (task, _Dying(task, self._flag)))
        return self._executor.submit(task, shard, handle)
